/// The form in which a session is kept: version ‖ fields in their order, integers big-endian.
///
/// It holds keys; who gets the bytes seals them before they reach a disk, and wipes them.
extension Session {
    private static let version: UInt8 = 1

    /// The session's bytes; the caller wipes them.
    func encoded() -> [UInt8] {
        var out: [UInt8] = [Self.version]
        out.reserveCapacity(320 + skipped.count * 68)
        out += associatedData
        root.secret.withPointer { out += UnsafeBufferPointer(start: $0, count: 32) }
        pair.secret.withPointer { out += UnsafeBufferPointer(start: $0, count: 32) }
        out += previousLength.bigEndianBytes
        out.append((sending == nil ? 0 : 1) | (receiving == nil ? 0 : 2))
        if let sending {
            sending.key.secret.withPointer { out += UnsafeBufferPointer(start: $0, count: 32) }
            out += sending.number.bigEndianBytes
        }
        if let receiving {
            out += receiving.publicKey
            receiving.key.secret.withPointer { out += UnsafeBufferPointer(start: $0, count: 32) }
            out += receiving.number.bigEndianBytes
        }
        out += UInt16(skipped.count).bigEndianBytes
        for skipped in skipped {
            out += skipped.publicKey
            out += skipped.number.bigEndianBytes
            skipped.key.secret.withPointer { out += UnsafeBufferPointer(start: $0, count: 32) }
        }
        return out
    }

    /// Reads what ``encoded()`` made; `nil` for anything else.
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
            guard let theirs = reader.bytes(32), let key = reader.bytes(32),
                let number = reader.integer(UInt32.self)
            else { return nil }
            receiving = ReceivingChain(
                publicKey: Array(theirs), key: ChainKey(secret: RatchetSecret(key)), number: number)
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
        guard reader.isAtEnd else { return nil }
        self.init(
            associatedData: Array(associatedData), root: RootKey(secret: RatchetSecret(root)),
            pair: RatchetKeyPair(secret: RatchetSecret(secret)),
            sending: sending, receiving: receiving, previousLength: previousLength,
            skipped: skipped)
    }
}

/// Takes fields off the front of bytes.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }
    /// What was not read yet.
    var remaining: ArraySlice<UInt8> { rest }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func integer<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        bytes(MemoryLayout<T>.size).flatMap { T(bigEndianBytes: $0) }
    }
}
