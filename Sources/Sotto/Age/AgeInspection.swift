/// What can be said of an age file without a key. None of it is authenticated.
public struct AgeInspection: Sendable {
    /// The format's name and version, as the file has it.
    public static var version: String { AgeHeader.version }

    /// A recipient, or something else that the header has for one.
    public struct Recipient: Sendable, Equatable {
        /// The stanza's type (C2SP age, "Recipient stanza"), such as `X25519`.
        public let type: String
        /// Whether a quantum computer is no help against it; `nil` for a type that is not known here.
        public let isPostQuantum: Bool?
        /// Of a passphrase, the binary logarithm of scrypt's work factor.
        public let logN: Int?
    }

    /// Those that can open it, in the order of the header.
    public let recipients: [Recipient]
    /// Whether the header has the encrypted list of recipients that a signed file for several has.
    public let namesAudience: Bool
    /// Whether it is in ASCII armor.
    public let isArmored: Bool
    /// The bytes of the header.
    public let headerSize: Int
    /// The bytes that encryption adds to the plaintext, behind the header.
    public let overhead: Int
    /// The bytes of the plaintext, signatures inside included.
    public let plaintextSize: Int
    /// The bytes that the armor adds.
    public let armorSize: Int

    /// The bytes of the whole file.
    public var size: Int { headerSize + overhead + plaintextSize + armorSize }

    /// Whether everyone's part is post-quantum; `nil` where that is not known of one, and of no other it is false.
    public var isPostQuantum: Bool? {
        if recipients.contains(where: { $0.isPostQuantum == false }) { return false }
        return recipients.contains { $0.isPostQuantum == nil } ? nil : true
    }

    /// Reads a file to its end and keeps its header. Throws ``AgeError`` where it is not an age file, or where
    /// no file can be as long as it is, so that it was cut.
    public init(_ source: any ByteSource) throws {
        let raw = CountingSource(source)
        let buffered = BufferedSource(raw)
        isArmored = try AgeFormat.skipSpaceBeforeArmor(buffered)
        let plain = isArmored ? BufferedSource(try AgeArmorReader(buffered)) : buffered
        let header = try AgeHeader(reading: plain)
        _ = try header.passphraseStanza()
        headerSize = header.size
        let payload = try plain.drain()
        guard let overhead = AgePayload.overhead(of: payload) else { throw AgeError.truncated }
        self.overhead = overhead
        plaintextSize = payload - overhead
        armorSize = raw.count - headerSize - payload
        namesAudience = header.stanzas.contains { $0.type == AgeAudience.type }
        // The grease that some programs add, so that others keep skipping what they do not know, is nobody's.
        recipients = header.stanzas.filter {
            $0.type != AgeAudience.type && !$0.type.hasSuffix("-grease")
        }.map(Recipient.init)
    }
}

extension AgeInspection.Recipient {
    init(_ stanza: AgeStanza) {
        type = stanza.type
        logN = stanza.type == AgeScrypt.type ? stanza.arguments.last.flatMap { Int($0) } : nil
        isPostQuantum =
            switch stanza.type {
            case AgeHybrid.type, AgeScrypt.type, "mlkem768p256tag": true
            case AgeX25519.type, AgeSSH.type, "ssh-rsa", "piv-p256", "p256tag": false
            default: nil
            }
    }
}

/// A source that counts what is read of another.
private final class CountingSource: ByteSource {
    private let source: any ByteSource
    private(set) var count = 0

    init(_ source: any ByteSource) { self.source = source }

    var isReady: Bool { source.isReady }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let read = try source.read(into: buffer)
        count += read
        return read
    }
}

extension ByteSource {
    /// Reads to the end, and returns how many bytes that were.
    fileprivate func drain() throws -> Int {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { block.deallocate() }
        var total = 0
        while true {
            let count = try read(into: block)
            if count == 0 { return total }
            total += count
        }
    }
}
