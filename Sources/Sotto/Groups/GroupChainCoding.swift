/// The stored form of the chains of a group: version ‖ fields in order, integers big-endian.
///
/// It contains keys. The caller encrypts the bytes before it writes them to a disk, and wipes them.
private let version: UInt8 = 1

extension GroupChain {
    /// The length of ``encoded()``.
    package static let encodedBytes = 165

    /// Returns the chain's bytes, ``encodedBytes``. The caller wipes them.
    package func encoded() -> [UInt8] {
        secretArray(count: Self.encodedBytes) { out in
            out += [version] + group.bytes + device.publicKey + iteration.bigEndianBytes
            key.secret.append(to: &out)
            signingKey.withSeed { out += $0 }
            wrapSecret.append(to: &out)
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    package init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == version, let group = reader.bytes(32), let device = reader.bytes(32),
            let iteration = reader.integer(UInt32.self), iteration <= Self.mostMessages,
            let key = reader.bytes(32), let seed = reader.bytes(32), let wrap = reader.bytes(32),
            reader.remaining.isEmpty
        else { return nil }
        self.init(
            group: GroupID(Array(group)), device: KeyID(publicKey: Array(device)),
            signingKey: SigningKey(seed: SecretBytes(copying: seed)),
            wrapSecret: RatchetSecret(wrap), key: ChainKey(secret: RatchetSecret(key)),
            iteration: iteration)
    }
}

extension ReceivedGroupChain {
    /// The length of ``encoded()`` without skipped keys.
    package static let fixedBytes = 167
    /// The length of a skipped key in ``encoded()``.
    package static let skippedBytes = 34

    /// Returns the chain's bytes. The caller wipes them.
    package func encoded() -> [UInt8] {
        secretArray(count: Self.fixedBytes + skipped.count * Self.skippedBytes) { out in
            out += [version] + group.bytes + device.publicKey + iteration.bigEndianBytes
            key.secret.append(to: &out)
            out += signingKey
            wrapSecret.append(to: &out)
            out += UInt16(skipped.count).bigEndianBytes
            for skipped in skipped {
                out += UInt16(skipped.iteration).bigEndianBytes
                skipped.key.secret.append(to: &out)
            }
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    package init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == version, let group = reader.bytes(32), let device = reader.bytes(32),
            let iteration = reader.integer(UInt32.self), iteration <= GroupChain.mostMessages,
            let key = reader.bytes(32), let signingKey = reader.bytes(32),
            isEd25519Key(Array(signingKey)), let wrap = reader.bytes(32),
            let count = reader.integer(UInt16.self), UInt32(count) <= GroupChain.mostMessages
        else { return nil }
        var skipped: [SkippedKey] = []
        for _ in 0..<count {
            guard let number = reader.integer(UInt16.self), let key = reader.bytes(32) else {
                return nil
            }
            skipped.append(
                SkippedKey(
                    iteration: UInt32(number), key: MessageKey(secret: RatchetSecret(key))))
        }
        guard reader.remaining.isEmpty else { return nil }
        self.init(
            group: GroupID(Array(group)), device: KeyID(publicKey: Array(device)),
            signingKey: Array(signingKey), wrapSecret: RatchetSecret(wrap),
            key: ChainKey(secret: RatchetSecret(key)), iteration: iteration, skipped: skipped)
    }
}
