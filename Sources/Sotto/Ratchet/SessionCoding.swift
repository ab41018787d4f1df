/// The stored form of a session: version ‖ fields in order, integers big-endian.
///
/// It contains keys. The caller encrypts the bytes before it writes them to a disk, and wipes them.
extension Session {
    private static let version: UInt8 = 1

    /// Returns the session's bytes. The caller wipes them.
    func encoded() -> [UInt8] {
        let chains = (sending == nil ? 0 : 36) + (receiving == nil ? 0 : 68)
        let count = 1 + 64 + 64 + 5 + chains + 3 + skipped.count * 68 + unfinished.count * 72
        return secretArray(count: count) { out in
            out.append(Self.version)
            out += associatedData
            root.secret.append(to: &out)
            pair.secret.append(to: &out)
            out += previousLength.bigEndianBytes
            out.append((sending == nil ? 0 : 1) | (receiving == nil ? 0 : 2))
            if let sending {
                sending.key.secret.append(to: &out)
                out += sending.number.bigEndianBytes
            }
            if let receiving { receiving.encode(to: &out) }
            out += UInt16(skipped.count).bigEndianBytes
            for skipped in skipped {
                out += skipped.publicKey
                out += skipped.number.bigEndianBytes
                skipped.key.secret.append(to: &out)
            }
            out.append(UInt8(unfinished.count))
            for rest in unfinished {
                rest.chain.encode(to: &out)
                out += rest.length.bigEndianBytes
            }
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    init?(encoded bytes: ArraySlice<UInt8>) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let associatedData = reader.bytes(64),
            let root = reader.bytes(32), let secret = reader.bytes(32),
            let previousLength = reader.integer(UInt32.self),
            let flags = reader.byte(), flags < 4
        else { return nil }
        var sending: SendingChain?
        if flags & 1 != 0 {
            guard let key = reader.bytes(32), let number = reader.integer(UInt32.self) else {
                return nil
            }
            sending = SendingChain(key: ChainKey(secret: RatchetSecret(key)), number: number)
        }
        var receiving: ReceivingChain?
        if flags & 2 != 0 {
            guard let chain = ReceivingChain(&reader) else { return nil }
            receiving = chain
        }
        guard let count = reader.integer(UInt16.self), count <= Self.maximumStored else {
            return nil
        }
        var skipped: [SkippedKey] = []
        for _ in 0..<count {
            guard let theirs = reader.bytes(32), let number = reader.integer(UInt32.self),
                let key = reader.bytes(32)
            else { return nil }
            skipped.append(
                SkippedKey(
                    publicKey: Array(theirs), number: number,
                    key: MessageKey(secret: RatchetSecret(key))))
        }
        var unfinished: [UnfinishedChain] = []
        guard let chains = reader.byte(), chains <= Self.maximumUnfinished else { return nil }
        for _ in 0..<chains {
            guard let chain = ReceivingChain(&reader),
                let length = reader.integer(UInt32.self), chain.number < length
            else { return nil }
            unfinished.append(UnfinishedChain(chain: chain, length: length))
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            associatedData: Array(associatedData), root: RootKey(secret: RatchetSecret(root)),
            pair: RatchetKeyPair(secret: RatchetSecret(secret)),
            sending: sending, receiving: receiving, previousLength: previousLength,
            skipped: skipped, unfinished: unfinished)
    }
}

extension Session.ReceivingChain {
    /// The peer's ratchet key (32 bytes) ‖ the chain key (32) ‖ the number of the next message (4).
    fileprivate func encode(to out: inout [UInt8]) {
        out += publicKey
        key.secret.append(to: &out)
        out += number.bigEndianBytes
    }

    fileprivate init?(_ reader: inout ByteReader) {
        guard let theirs = reader.bytes(32), let key = reader.bytes(32),
            let number = reader.integer(UInt32.self)
        else { return nil }
        self.init(
            publicKey: Array(theirs), key: ChainKey(secret: RatchetSecret(key)), number: number)
    }
}
