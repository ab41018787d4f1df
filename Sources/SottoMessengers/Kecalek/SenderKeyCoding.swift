import Sotto

/// The stored form of sender key chains: version ‖ fields in order, integers big-endian.
///
/// It contains keys. The caller encrypts the bytes before it writes them to a disk, and wipes them.
private let version: UInt8 = 1

extension SenderKeyChain {
    /// Returns the chain's bytes. The caller wipes them.
    package func encoded() -> [UInt8] {
        secretArray(count: 101 + groupID.utf8.count) { out in
            out += [version] + chainID + iteration.bigEndianBytes
            key.secret.append(to: &out)
            signingKey.withSeed { out += $0 }
            out += groupID.utf8
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    package init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == version, let chainID = reader.bytes(32),
            let iteration = reader.integer(UInt32.self), let key = reader.bytes(32),
            let seed = reader.bytes(32),
            let group = String(validating: reader.remaining, as: UTF8.self), !group.isEmpty
        else { return nil }
        self.init(
            groupID: group, chainID: Array(chainID),
            signingKey: SigningKey(seed: SecretBytes(copying: seed)),
            key: ChainKey(secret: RatchetSecret(key)), iteration: iteration)
    }
}

extension ReceivedSenderKeyChain {
    /// Returns the chain's bytes. The caller wipes them.
    package func encoded() -> [UInt8] {
        secretArray(count: 103 + skipped.count * 36 + groupID.utf8.count) { out in
            out += [version] + chainID + iteration.bigEndianBytes
            key.secret.append(to: &out)
            out += signingKey + UInt16(skipped.count).bigEndianBytes
            for skipped in skipped {
                out += skipped.iteration.bigEndianBytes
                skipped.key.secret.append(to: &out)
            }
            out += groupID.utf8
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    package init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == version, let chainID = reader.bytes(32),
            let iteration = reader.integer(UInt32.self), let key = reader.bytes(32),
            let signingKey = reader.bytes(32), let count = reader.integer(UInt16.self),
            count <= Self.maximumStored
        else { return nil }
        var skipped: [SkippedKey] = []
        for _ in 0..<count {
            guard let number = reader.integer(UInt32.self), let key = reader.bytes(32) else {
                return nil
            }
            skipped.append(
                SkippedKey(iteration: number, key: MessageKey(secret: RatchetSecret(key))))
        }
        guard let group = String(validating: reader.remaining, as: UTF8.self), !group.isEmpty else {
            return nil
        }
        self.init(
            groupID: group, chainID: Array(chainID), signingKey: Array(signingKey),
            key: ChainKey(secret: RatchetSecret(key)), iteration: iteration, skipped: skipped)
    }
}
