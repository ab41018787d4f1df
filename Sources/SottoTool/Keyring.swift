import CKeyutils
import Glibc
public import Sotto

/// File keys of unlocked identity files in the kernel's user keyring (user-keyring(7)).
///
/// A key has 16 bytes and decrypts one protected identity file; its description names the file's header. A changed
/// passphrase makes a new header, so the old key matches no file. The kernel deletes each key at its timeout, and does not
/// tell the timeout exactly, so 8 more bytes are the time of it in seconds since 1970.
public enum Keyring {
    /// An error of storing a file key.
    public enum KeyringError: Error, Sendable, Equatable {
        /// The system has no keyring, or forbids its use.
        case unavailable(code: Int32)
        /// The user's quota has no space for another key.
        case full
    }

    /// The common beginning of the descriptions.
    private static let prefix = "sotto:identity:"
    private static let type = "user"
    private static let ring = key_serial_t(KEY_SPEC_USER_KEYRING)

    /// Allows another process of the same user to find and read a key without a link from its own keyrings.
    private static let permissions = key_perm_t(
        KEY_POS_ALL | KEY_USR_VIEW | KEY_USR_READ | KEY_USR_SEARCH)

    /// Throws ``KeyringError/unavailable(code:)`` if the system has no user keyring.
    public static func check() throws(KeyringError) {
        guard keyctl_get_keyring_ID(ring, 1) >= 0 else { throw .unavailable(code: errno) }
    }

    /// Stores the file key of the protected `file` for `seconds`, and replaces an earlier one.
    public static func keep(
        _ fileKey: borrowing SecretBytes, of file: [UInt8], seconds: UInt32
    ) throws {
        let description = try description(of: file)
        // The description is set after the timeout: a crash in between leaves no key without a timeout.
        let end = Timestamp.now().seconds + Int64(seconds)
        let payload = fileKey.withBytes { bytes in
            SecretBytes(count: payloadSize) { memory in
                memory.copyBytes(from: bytes)
                memory.storeBytes(
                    of: end.bigEndian, toByteOffset: AgeFile.fileKeySize, as: Int64.self)
            }
        }
        let key = payload.withBytes { bytes in
            add_key(
                type, description, bytes.baseAddress, bytes.count,
                key_serial_t(KEY_SPEC_PROCESS_KEYRING))
        }
        guard key >= 0, keyctl_setperm(key, permissions) >= 0,
            keyctl_set_timeout(key, seconds) >= 0, keyctl_link(key, ring) >= 0
        else { throw errno == EDQUOT ? KeyringError.full : .unavailable(code: errno) }
    }

    /// Returns the file key of the protected `file`, or `nil` if none is stored or the keyring cannot be used.
    static func fileKey(of file: [UInt8]) -> SecretBytes? {
        guard let payload = payload(of: file) else { return nil }
        return payload.withBytes { SecretBytes(copying: $0.prefix(AgeFile.fileKeySize)) }
    }

    /// Returns the time until which the file key of the protected `file` is stored, or `nil` if it is not.
    static func end(of file: [UInt8]) -> Timestamp? {
        guard let payload = payload(of: file) else { return nil }
        return payload.withBytes { bytes in
            let end = bytes.loadUnaligned(fromByteOffset: AgeFile.fileKeySize, as: Int64.self)
            return Timestamp(seconds: Int64(bigEndian: end))
        }
    }

    /// The bytes of a file key and of the time of its end.
    private static let payloadSize = AgeFile.fileKeySize + 8

    private static func payload(of file: [UInt8]) -> SecretBytes? {
        guard let key = find(file) else { return nil }
        return try? SecretBytes(count: payloadSize) { memory throws(KeyringError) in
            let count = keyctl_read(
                key, memory.baseAddress?.assumingMemoryBound(to: CChar.self), memory.count)
            guard count == memory.count else { throw .unavailable(code: errno) }
        }
    }

    /// Returns whether the file key of the protected `file` is stored.
    static func has(_ file: [UInt8]) -> Bool { find(file) != nil }

    /// Deletes the file key of the protected `file`. Returns false if none was stored.
    @discardableResult
    public static func delete(_ file: [UInt8]) -> Bool {
        guard let key = find(file) else { return false }
        return delete(key)
    }

    /// Deletes the file keys of all identities. Returns their number.
    public static func deleteAll() -> Int {
        var memory: UnsafeMutableRawPointer?
        let size = keyctl_read_alloc(ring, &memory)
        guard size >= 0, let memory else { return 0 }
        defer { free(memory) }
        var count = 0
        for key in UnsafeRawBufferPointer(start: memory, count: Int(size)).bindMemory(
            to: key_serial_t.self)
        where isFileKey(key) && delete(key) {
            count += 1
        }
        return count
    }

    private static func isFileKey(_ key: key_serial_t) -> Bool {
        var text: UnsafeMutablePointer<CChar>?
        guard keyctl_describe_alloc(key, &text) >= 0, let text else { return false }
        defer { free(text) }
        // "type;uid;gid;permissions;description"
        let fields = String(cString: text).split(separator: ";", maxSplits: 4)
        return fields.count == 5 && fields[0] == type && fields[4].hasPrefix(prefix)
    }

    private static func delete(_ key: key_serial_t) -> Bool {
        // Invalidation takes effect immediately and everywhere; unlinking is for kernels without it.
        keyctl_invalidate(key) >= 0 || keyctl_unlink(key, ring) >= 0
    }

    private static func find(_ file: [UInt8]) -> key_serial_t? {
        guard let description = try? description(of: file) else { return nil }
        let key = keyctl_search(ring, type, description, 0)
        return key >= 0 ? key_serial_t(key) : nil
    }

    private static func description(of file: [UInt8]) throws -> String {
        prefix + hex(try AgeFile.headerDigest(of: file).prefix(16))
    }
}

extension Failure {
    /// Creates the failure for an error of the keyring.
    public init(_ error: Keyring.KeyringError) {
        switch error {
        case .unavailable(let code):
            self.init(
                .configuration,
                "the kernel's keyring cannot be used here: \(Failure.text(of: code))",
                hint: "enter the passphrase for each tool, or use --identity-passphrase @FILE:PATH")
        case .full:
            self.init(
                .ioError, "the kernel's keyring has no space for another key",
                hint: "sotto keygen lock --all")
        }
    }
}
