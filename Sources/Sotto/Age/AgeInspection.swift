/// The properties of an age file that can be read without a key. They are not authenticated.
public struct AgeInspection: Sendable {
    /// The format's name and version: the first line of the file.
    public static var version: String { AgeHeader.version }

    /// A recipient stanza of the header.
    public struct Recipient: Sendable, Equatable {
        /// The stanza's type (C2SP age, "Recipient stanza"), such as `X25519`.
        public let type: String
        /// Whether the recipient type is post-quantum, or `nil` for an unknown type.
        public let isPostQuantum: Bool?
        /// For a passphrase, the binary logarithm of scrypt's work factor.
        public let logN: Int?
    }

    /// The recipients, in the order of the header.
    public let recipients: [Recipient]
    /// Whether the header has the encrypted list of recipients of a signed file for several recipients.
    public let namesAudience: Bool
    /// Whether the file is in ASCII armor.
    public let isArmored: Bool
    /// The length of the header in bytes.
    public let headerSize: Int
    /// The bytes that encryption adds to the plaintext, without the header.
    public let overhead: Int
    /// The length of the plaintext in bytes, including signatures in it.
    public let plaintextSize: Int
    /// The bytes that the armor adds.
    public let armorSize: Int

    /// The length of the whole file in bytes.
    public var size: Int { headerSize + overhead + plaintextSize + armorSize }

    /// Whether all recipients are post-quantum. False if one is classic; `nil` if none is classic and one is unknown.
    public var isPostQuantum: Bool? {
        if recipients.contains(where: { $0.isPostQuantum == false }) { return false }
        return recipients.contains { $0.isPostQuantum == nil } ? nil : true
    }

    /// Reads a file to its end and keeps its header. Throws ``AgeError`` if it is not an age file, or if no complete
    /// file has its length.
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
        // Some programs add grease stanzas, so that readers keep skipping unknown types. They have no recipient.
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

/// A source that counts the bytes that are read from another source.
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
    /// Reads to the end and returns the number of bytes.
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
