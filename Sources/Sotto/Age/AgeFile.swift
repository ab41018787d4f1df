/// The recipients or the passphrase that can open an age file.
public enum AgeAccess: Sendable {
    /// These recipients, which are all post-quantum or all classic.
    case recipients([AgeRecipient])
    /// A passphrase.
    case passphrase(Passphrase, logN: Int = AgeScrypt.logN)
}

/// Writes an age v1 file (C2SP age).
public enum AgeFile {
    /// Writes the header to `sink` and returns the sink for the plaintext. ``ByteSink/finish()`` ends the file.
    ///
    /// With `namesAudience` and more than one recipient, the header includes the encrypted list of recipients, so that
    /// each of them can verify the audience of a signature (``SignedStream``). Files of more than one chunk use
    /// `cipher`, or libsodium's if it is `nil`.
    public static func writer(
        for access: AgeAccess, armored: Bool = false, namesAudience: Bool = false,
        cipher: (any ChunkCipher)? = nil, to sink: any ByteSink
    ) throws -> any ByteSink {
        let fileKey = SecretBytes(randomCount: fileKeySize)
        let stanzas = try stanzas(for: access, fileKey, namesAudience: namesAudience)
        let target: any ByteSink = armored ? try AgeArmorWriter(to: sink) : sink
        try target.write(AgeHeader.encode(stanzas, fileKey: fileKey))
        return try AgePayload.writer(fileKey: fileKey, cipher: cipher, to: target)
    }

    /// Encrypts the file key for each recipient, or with the passphrase.
    private static func stanzas(
        for access: AgeAccess, _ fileKey: borrowing SecretBytes, namesAudience: Bool = false
    ) throws -> [AgeStanza] {
        switch access {
        case .passphrase(let passphrase, let logN):
            return [try AgeScrypt.wrap(fileKey, passphrase: passphrase, logN: logN)]
        case .recipients(let recipients):
            guard let first = recipients.first else { throw AgeError.noRecipients }
            guard recipients.allSatisfy({ $0.isPostQuantum == first.isPostQuantum }) else {
                throw AgeError.mixedRecipients
            }
            var stanzas: [AgeStanza] = []
            for recipient in recipients {
                let stanza: AgeStanza? =
                    switch recipient {
                    case .x25519(let recipient): AgeX25519.wrap(fileKey, to: recipient)
                    case .hybrid(let recipient): AgeHybrid.wrap(fileKey, to: recipient)
                    case .ssh(let recipient): AgeSSH.wrap(fileKey, to: recipient)
                    }
                guard let stanza else { throw AgeError.header("recipient") }
                stanzas.append(stanza)
            }
            if namesAudience, recipients.count > 1 {
                stanzas.append(AgeAudience.stanza(recipients, fileKey: fileKey))
            }
            return stanzas
        }
    }

    /// Encrypts a plaintext in memory and returns the whole file.
    public static func seal(_ plaintext: [UInt8], for access: AgeAccess, armored: Bool = false)
        throws -> [UInt8]
    {
        let fileKey = SecretBytes(randomCount: fileKeySize)
        return try seal(
            plaintext, try stanzas(for: access, fileKey), fileKey: fileKey, armored: armored)
    }

    private static func seal(
        _ plaintext: [UInt8], _ stanzas: [AgeStanza], fileKey: borrowing SecretBytes,
        armored: Bool
    ) throws -> [UInt8] {
        let file =
            AgeHeader.encode(stanzas, fileKey: fileKey)
            + AgePayload.seal(plaintext, fileKey: fileKey)
        guard armored else { return file }
        let memory = MemorySink()
        let armor = try AgeArmorWriter(to: memory)
        try armor.write(file)
        try armor.finish()
        return memory.bytes
    }
}

/// The list of recipients of a signed file with several recipients: a stanza of type `sotto-audience`, which other age
/// programs skip. Its body is the sorted recipient strings joined by LF, encrypted with ChaCha20-Poly1305 under
/// HKDF-SHA256(file key, info `sotto/audience/v1`, 32) with a nonce of zeros.
///
/// A signature covers a hash over all recipient strings. A recipient knows only their own string and could not compute
/// that hash, so they could not tell the file from one that was re-encrypted to another recipient.
enum AgeAudience {
    static let type = "sotto-audience"

    static func stanza(_ recipients: [AgeRecipient], fileKey: borrowing SecretBytes) -> AgeStanza {
        let text = SignedStream.sorted(recipients.map(\.text)).joined(separator: "\n")
        return AgeStanza(
            type: type, arguments: [],
            body: ChaChaPoly.sealOnce(SecretBytes(copying: text.utf8), key: key(fileKey)))
    }

    static func recipients(in stanzas: [AgeStanza], fileKey: borrowing SecretBytes) -> [String]? {
        guard let stanza = stanzas.first(where: { $0.type == type }),
            let text = ChaChaPoly.openOnce(stanza.body, key: key(fileKey))
        else { return nil }
        return text.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
            .map(String.init)
    }

    private static func key(_ fileKey: borrowing SecretBytes) -> SecretBytes {
        hkdfSHA256(fileKey, info: "sotto/audience/v1")
    }
}

/// A secret key that can open age files.
public enum AgeIdentity: Sendable {
    case x25519(AgeX25519Identity)
    case hybrid(AgeHybridIdentity)
    case ssh(AgeSSHIdentity)

    /// Reads `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…`.
    public init?(_ text: some StringProtocol) {
        if let identity = AgeX25519Identity(text) {
            self = .x25519(identity)
        } else if let identity = AgeHybridIdentity(text) {
            self = .hybrid(identity)
        } else {
            return nil
        }
    }

    /// The recipient whose files it opens.
    public var recipient: AgeRecipient {
        switch self {
        case .x25519(let identity): .x25519(identity.recipient)
        case .hybrid(let identity): .hybrid(identity.recipient)
        case .ssh(let identity): .ssh(identity.recipient)
        }
    }
}

/// An age file whose header was read. Its payload is decrypted on demand.
public final class AgeFileReader: BorrowingSource {
    /// The recipient whose identity opened the file; `nil` for a passphrase.
    public let openedBy: AgeRecipient?
    /// All recipients, if the writer named them for a signature.
    public let namedRecipients: [String]?
    private let payload: ChunkReader

    /// Reads the header of `source`, armored or not, and decrypts the file key.
    ///
    /// `passphrase` is called at most once, and only for a passphrase file. It may return `nil`. Files of more than one
    /// chunk use `cipher`, or libsodium's if it is `nil`.
    public init(
        _ source: any ByteSource, identities: [AgeIdentity], cipher: (any ChunkCipher)? = nil,
        passphrase: () throws -> Passphrase?
    ) throws {
        let (header, plain) = try Self.begin(BufferedSource(source))
        (openedBy, namedRecipients, payload) = try Self.withFileKey(
            of: header, identities, passphrase
        ) { fileKey, recipient in
            let named =
                recipient == nil
                ? nil : AgeAudience.recipients(in: header.stanzas, fileKey: fileKey)
            return (
                recipient, named,
                try AgePayload.reader(fileKey: fileKey, cipher: cipher, from: plain)
            )
        }
    }

    /// Calls `body` with the file key, and the recipient whose identity opened the header; `nil` for a passphrase.
    private static func withFileKey<T>(
        of header: AgeHeader, _ identities: [AgeIdentity], _ passphrase: () throws -> Passphrase?,
        _ body: (borrowing SecretBytes, AgeRecipient?) throws -> T
    ) throws -> T {
        if let stanza = try header.passphraseStanza() {
            guard let passphrase = try passphrase() else { throw AgeError.passphraseNeeded }
            let fileKey = try AgeScrypt.unwrap(stanza, passphrase: passphrase)
            guard header.isAuthentic(fileKey: fileKey) else { throw AgeError.headerAuthentication }
            return try body(fileKey, nil)
        }
        for identity in identities {
            for stanza in header.stanzas {
                guard let fileKey = try unwrap(stanza, with: identity) else { continue }
                guard header.isAuthentic(fileKey: fileKey) else {
                    throw AgeError.headerAuthentication
                }
                return try body(fileKey, identity.recipient)
            }
        }
        throw AgeError.noMatch
    }

    /// Returns the header of `source`, and a source that starts at the first byte of the payload.
    fileprivate static func begin(
        _ source: BufferedSource
    ) throws -> (header: AgeHeader, payload: BufferedSource) {
        let plain =
            try AgeFormat.skipSpaceBeforeArmor(source)
            ? BufferedSource(try AgeArmorReader(source)) : source
        return (try AgeHeader(reading: plain), plain)
    }

    private static func unwrap(
        _ stanza: AgeStanza, with identity: AgeIdentity
    ) throws -> SecretBytes? {
        switch identity {
        case .x25519(let identity):
            guard stanza.type == AgeX25519.type else { return nil }
            return try AgeX25519.unwrap(stanza, with: identity)
        case .hybrid(let identity):
            guard stanza.type == AgeHybrid.type else { return nil }
            return try AgeHybrid.unwrap(stanza, with: identity)
        case .ssh(let identity):
            guard stanza.type == AgeSSH.type else { return nil }
            return try AgeSSH.unwrap(stanza, with: identity)
        }
    }

    /// Whether verified plaintext is available, or soon will be without reading more.
    public var isReady: Bool { payload.isReady }

    /// Reads verified plaintext; throws ``AgeError`` at the first chunk that is not authentic.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try payload.read(into: buffer)
    }

    /// Returns the next verified plaintext without copying it. Throws as ``read(into:)`` does.
    public func borrow() throws -> UnsafeRawBufferPointer { try payload.borrow() }

    /// Decrypts a file in memory and returns the whole plaintext.
    public static func open(
        _ file: [UInt8], identities: [AgeIdentity], passphrase: () throws -> Passphrase? = { nil }
    ) throws -> [UInt8] {
        try opened(file, identities: identities, passphrase: passphrase).plaintext
    }

    /// Does the same, and returns the recipient whose identity opened the file too; `nil` for a passphrase.
    static func opened(
        _ file: [UInt8], identities: [AgeIdentity], passphrase: () throws -> Passphrase? = { nil }
    ) throws -> (plaintext: [UInt8], by: AgeRecipient?) {
        let (header, payload) = try begin(BufferedSource(file))
        return try withFileKey(of: header, identities, passphrase) { fileKey, recipient in
            (try AgePayload.open(payload.readAll(), fileKey: fileKey), recipient)
        }
    }

    /// Decrypts a file in memory with the file key that ``AgeFile/fileKey(of:passphrase:)`` returned, and returns the whole
    /// plaintext. Throws ``AgeError/headerAuthentication`` for the key of another file.
    public static func open(_ file: [UInt8], fileKey: borrowing SecretBytes) throws -> [UInt8] {
        let (header, payload) = try begin(BufferedSource(file))
        guard fileKey.count == AgeFile.fileKeySize, header.isAuthentic(fileKey: fileKey) else {
            throw AgeError.headerAuthentication
        }
        return try AgePayload.open(payload.readAll(), fileKey: fileKey)
    }
}

extension AgeFile {
    /// The length of a file key in bytes (C2SP age, "File key").
    public static let fileKeySize = 16

    /// Returns the file key of a passphrase file in memory. The key opens this file only, without the passphrase.
    ///
    /// Throws ``AgeError/wrongPassphrase``, ``AgeError/noMatch`` for a file that is encrypted to recipients, and the
    /// errors of a malformed header.
    public static func fileKey(
        of file: [UInt8], passphrase: () throws -> Passphrase
    ) throws -> SecretBytes {
        let (header, _) = try AgeFileReader.begin(BufferedSource(file))
        guard let stanza = try header.passphraseStanza() else { throw AgeError.noMatch }
        let fileKey = try AgeScrypt.unwrap(stanza, passphrase: try passphrase())
        guard header.isAuthentic(fileKey: fileKey) else { throw AgeError.headerAuthentication }
        return fileKey
    }

    /// Returns an armored file with the header of a passphrase file in memory and another plaintext. The passphrase and the
    /// file key open it like `file`; the payload has a new nonce, and so a new key. Throws
    /// ``AgeError/headerAuthentication`` for the key of another file.
    public static func sealAgain(
        _ plaintext: [UInt8], in file: [UInt8], fileKey: borrowing SecretBytes
    ) throws -> [UInt8] {
        let (header, _) = try AgeFileReader.begin(BufferedSource(file))
        guard fileKey.count == fileKeySize, header.isAuthentic(fileKey: fileKey) else {
            throw AgeError.headerAuthentication
        }
        return try seal(plaintext, header.stanzas, fileKey: fileKey, armored: true)
    }

    /// Returns SHA-256 of a file's header up to its MAC. It identifies the file, because each header has a new salt and
    /// a new wrapped file key.
    public static func headerDigest(of file: [UInt8]) throws -> [UInt8] {
        sha256(try AgeFileReader.begin(BufferedSource(file)).header.authenticated)
    }
}

/// The recognition of age files by their first bytes.
public enum AgeFormat {
    /// Whether `beginning` is the beginning of an age file. It has at least 64 bytes, or all bytes of a shorter input.
    public static func isAge(_ beginning: some Collection<UInt8>) -> Bool {
        if beginning.starts(with: "age-encryption.org/".utf8) { return true }
        return beginning.drop(while: AgeArmorReader.isSpace).starts(with: "-----BEGIN AGE".utf8)
    }

    /// Skips white space before an armored file. Returns whether one follows.
    static func skipSpaceBeforeArmor(_ source: BufferedSource) throws -> Bool {
        let beginning = try source.peek(1024)
        let text = beginning.drop(while: AgeArmorReader.isSpace)
        guard text.starts(with: "-----".utf8) else { return false }
        var space = [UInt8](repeating: 0, count: beginning.count - text.count)
        _ = try space.withUnsafeMutableBytes { try source.fill($0) }
        return true
    }
}
