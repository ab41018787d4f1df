/// The stored form of a session: version ‖ fields in order, integers big-endian.
///
/// It contains keys. The caller encrypts the bytes before it writes them to a disk, and wipes them.
extension Session {
    private static let version: UInt8 = 1

    /// The bits of the second byte. One of the first two is set unless our side has only the signed prekey.
    private enum Flag {
        static let sent: UInt8 = 1
        static let received: UInt8 = 2
        static let receiving: UInt8 = 4
        static let hybrid: UInt8 = 8
    }

    private var flags: UInt8 {
        var flags: UInt8 =
            switch turn {
            case .preKey: 0
            case .sent: Flag.sent
            case .received: Flag.received
            }
        if receiving != nil { flags |= Flag.receiving }
        if kind == .hybrid { flags |= Flag.hybrid }
        return flags
    }

    /// The length of the stored form of ``turn``.
    private var turnCount: Int {
        switch turn {
        case .preKey: 32
        case .sent(let chain):
            68 + (chain.pair.kem == nil ? 0 : KEMKey.seedBytes) + (chain.ciphertext?.count ?? 0)
        case .received(let theirs): (receiving == nil ? 32 : 0) + (theirs.kem?.count ?? 0)
        }
    }

    /// Returns the session's bytes. The caller wipes them.
    func encoded() -> [UInt8] {
        let count =
            2 + 64 + 32 + 4 + (receiving == nil ? 0 : 68) + turnCount + 3 + skipped.count * 68
            + unfinished.count * 72
        return secretArray(count: count) { out in
            out.append(Self.version)
            out.append(flags)
            out += associatedData
            root.secret.append(to: &out)
            out += previousLength.bigEndianBytes
            if let receiving { receiving.encode(to: &out) }
            encodeTurn(to: &out)
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

    /// The signed prekey (32 bytes); or our X25519 secret (32) ‖ the ML-KEM-768 seed (64, hybrid) ‖ the chain key (32) ‖
    /// the number of the next message (4) ‖ the ciphertext (1088, hybrid and not the initiator's first chain); or the
    /// peer's X25519 key (32, if no receiving chain has it) ‖ the peer's ML-KEM-768 key (1184, hybrid and with a
    /// receiving chain).
    private func encodeTurn(to out: inout [UInt8]) {
        switch turn {
        case .preKey(let pair): pair.secret.append(to: &out)
        case .sent(let chain):
            chain.pair.x25519.secret.append(to: &out)
            chain.pair.kem?.append(to: &out)
            chain.key.secret.append(to: &out)
            out += chain.number.bigEndianBytes
            out += chain.ciphertext ?? []
        case .received(let theirs):
            if receiving == nil { out += theirs.x25519 }
            out += theirs.kem ?? []
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    init?(encoded bytes: ArraySlice<UInt8>) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let flags = reader.byte(), flags < 16,
            let associatedData = reader.bytes(64), let root = reader.bytes(32),
            let previousLength = reader.integer(UInt32.self)
        else { return nil }
        let kind: RatchetKind = flags & Flag.hybrid == 0 ? .classical : .hybrid
        var receiving: ReceivingChain?
        if flags & Flag.receiving != 0 {
            guard let chain = ReceivingChain(&reader) else { return nil }
            receiving = chain
        }
        guard let turn = Turn(&reader, flags: flags, kind, receiving),
            let count = reader.integer(UInt16.self), count <= Self.maximumStored
        else { return nil }
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
            associatedData: Array(associatedData), kind: kind,
            root: RootKey(secret: RatchetSecret(root)), turn: turn, receiving: receiving,
            previousLength: previousLength, skipped: skipped, unfinished: unfinished)
    }
}

extension Session.Turn {
    fileprivate init?(
        _ reader: inout ByteReader, flags: UInt8, _ kind: RatchetKind,
        _ receiving: Session.ReceivingChain?
    ) {
        switch flags & 3 {
        case 0:
            guard receiving == nil, let secret = reader.bytes(32) else { return nil }
            self = .preKey(RatchetKeyPair(secret: RatchetSecret(secret)))
        case 1:
            guard let chain = Session.SendingChain(&reader, kind, hasReceived: receiving != nil)
            else { return nil }
            self = .sent(chain)
        case 2:
            guard let x25519 = receiving?.publicKey ?? reader.bytes(32).map({ Array($0) }) else {
                return nil
            }
            guard kind == .hybrid, receiving != nil else {
                self = .received(RatchetPublicKey(x25519: x25519, kem: nil))
                return
            }
            guard let kem = reader.bytes(MLKEM.keyBytes768), MLKEM.isReduced(kem) else {
                return nil
            }
            self = .received(RatchetPublicKey(x25519: x25519, kem: Array(kem)))
        default: return nil
        }
    }
}

extension Session.SendingChain {
    fileprivate init?(_ reader: inout ByteReader, _ kind: RatchetKind, hasReceived: Bool) {
        guard let secret = reader.bytes(32) else { return nil }
        var kem: KEMKey?
        if kind == .hybrid {
            guard let seed = reader.bytes(KEMKey.seedBytes) else { return nil }
            kem = KEMKey(.mlkem768, seed: seed)
        }
        guard let key = reader.bytes(32), let number = reader.integer(UInt32.self) else {
            return nil
        }
        var ciphertext: [UInt8]?
        if kind == .hybrid, hasReceived {
            guard let bytes = reader.bytes(MLKEM.ciphertextBytes768) else { return nil }
            ciphertext = Array(bytes)
        }
        self.init(
            pair: RatchetPair(
                x25519: RatchetKeyPair(secret: RatchetSecret(secret)), kem: kem),
            ciphertext: ciphertext, key: ChainKey(secret: RatchetSecret(key)), number: number)
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
