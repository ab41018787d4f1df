import Sotto
import TestSupport
import Testing

/// Tests/Vectors/modern.json, `signedStream` and `signedStreamMustFail`.
struct SignedStreamVectorTests {
    struct Vectors: Decodable {
        let signedStream: [Stream]
        let signedStreamBaseSha256: Hex
        let signedStreamMustFail: [MustFail]
        let keys: [KeyDerivationTests.Keys]
    }

    struct Stream: Decodable, Sendable, CustomTestStringConvertible {
        let length: Int
        let dataRule: String
        let dataSha256: Hex
        let salt: Hex
        let audienceRecipients: [String]
        let audience: Hex
        let signerSeed: Hex
        let streamLength: Int
        let streamSha256: Hex
        let stream: Hex?
        var testDescription: String { dataRule }
    }

    struct MustFail: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let streamSha256: Hex
        let stream: Hex?
        /// The number of bytes that may be returned before the error, or `nil` if all may be.
        let mayReleaseBytes: Int?
        var testDescription: String { why }
    }

    static let vectors = TestSupport.Vectors.load("modern", as: Vectors.self)

    /// Signs `data` with the key of `seed`, written in pieces.
    static func sign(
        _ data: [UInt8], seed: [UInt8], audience: [UInt8], salt: [UInt8], pieces: [Int]? = nil
    ) throws -> [UInt8] {
        let sink = MemorySink()
        let writer = try SignedStreamWriter(
            by: SigningKey(seed: SecretBytes(copying: seed)), audience: audience, salt: salt,
            to: sink)
        var rest = data[...]
        for piece in pieces ?? [data.count] {
            try writer.write(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        try writer.finish()
        return sink.bytes
    }

    @Test(arguments: vectors.signedStream)
    func aStreamHasTheKnownBytes(_ known: Stream) throws {
        let data = bytes(ofRule: known.dataRule)
        #expect(data.count == known.length)
        #expect(sha256(data) == known.dataSha256.bytes)
        let audience = SignedStream.audience(known.audienceRecipients)
        #expect(audience == known.audience.bytes)
        let stream = try Self.sign(
            data, seed: known.signerSeed.bytes, audience: audience, salt: known.salt.bytes)
        #expect(stream.count == known.streamLength)
        #expect(sha256(stream) == known.streamSha256.bytes)
        if let inline = known.stream { #expect(stream == inline.bytes) }

        let reader = try SignedStreamReader(MemorySource(stream))
        #expect(reader.audience == known.audience.bytes)
        #expect(reader.signer == Self.vectors.keys[0].signPublic.bytes)
        let released = release { reader }
        #expect(released.error == nil)
        #expect(released.bytes == data)
    }

    @Test func theOrderOfRecipientsDoesNotChangeTheAudience() {
        let two = Self.vectors.signedStream.filter { $0.audienceRecipients.count == 2 }
        #expect(two.count >= 2)
        for known in two {
            #expect(
                SignedStream.audience(known.audienceRecipients.reversed())
                    == SignedStream.audience(known.audienceRecipients))
        }
    }

    /// The parts of the stream for the failures: 65,546 bytes in two chunks.
    struct Base {
        let header: [UInt8]
        let first: [UInt8]
        let last: [UInt8]

        init(salt: String = "ss-x-salt") throws {
            let keys = SignedStreamVectorTests.vectors.keys
            let stream = try SignedStreamVectorTests.sign(
                shake256("test-vector-bytes/ss-x", count: 65546),
                seed: keys[0].signSeed.bytes, audience: SignedStream.anyone,
                salt: shake256("test-vector-bytes/\(salt)", count: 16))
            header = Array(stream[..<160])
            first = Array(stream[160..<(160 + 4 + 65536 + 64)])
            last = Array(stream[(160 + 4 + 65536 + 64)...])
        }

        var whole: [UInt8] { header + first + last }
    }

    /// Returns the stream that `why` describes, made from the base stream.
    static func changed(_ why: String) throws -> [UInt8]? {
        let base = try Base()
        let (header, first, last) = (base.header, base.first, base.last)
        func flipped(byte: Int) -> [UInt8] { base.whole.flipping(bit: byte * 8) }
        switch why {
        case "header signature bit": return flipped(byte: 150)
        case "audience bit": return flipped(byte: 70)
        case "salt bit": return flipped(byte: 50)
        case "first data byte": return flipped(byte: 164)
        case "second chunk data": return flipped(byte: 160 + first.count + 4)
        case "signer key replaced":
            let seed = SecretBytes(copying: shake256("test-vector-bytes/mallory", count: 32))
            var stream = base.whole
            stream.replaceSubrange(16..<48, with: SigningKey(seed: seed).publicKey)
            return stream
        case "truncated after the first chunk": return header + first
        case "final flag set on chunk 0, rest dropped":
            return header + [first[0] | 0x80] + first[1...]
        case "chunks swapped": return header + last + first
        case "chunk 0 repeated": return header + first + first + last
        case "one byte after the final chunk": return base.whole + [0]
        case "header only": return header
        case "empty input": return []
        case "short non-final chunk": return header + UInt32(10).bigEndianBytes + last[4...]
        case "length 65537": return header + UInt32(65537).bigEndianBytes + first[4...]
        case "chunk from another stream of the same signer":
            return try Base(salt: "ss-y-salt").header + first + last
        default: return nil
        }
    }

    @Test(arguments: vectors.signedStreamMustFail)
    func aChangedStreamIsRefusedAtTheKnownPlace(_ known: MustFail) throws {
        let stream = try #require(try Self.changed(known.why))
        if let inline = known.stream { #expect(stream == inline.bytes) }
        #expect(sha256(stream) == known.streamSha256.bytes)
        let released = release { try SignedStreamReader(MemorySource(stream)) }
        let error = try #require(released.error as? SignedStreamError)
        let expected: Set<SignedStreamError> =
            switch known.why {
            case "empty input": [.notSigned]
            case "header only", "truncated after the first chunk": [.truncated]
            case "one byte after the final chunk": [.trailing]
            case let why where why.contains("bit") || why.contains("signer key"): [.header]
            default: [.chunk]
            }
        #expect(expected.contains(error), "\(error)")
        let data = shake256("test-vector-bytes/ss-x", count: 65546)
        #expect(data.starts(with: released.bytes))
        #expect(released.bytes.count <= known.mayReleaseBytes ?? data.count)
    }

    @Test func theBaseStreamIsTheKnownOne() throws {
        #expect(
            sha256(try Base().whole) == Self.vectors.signedStreamBaseSha256.bytes)
    }
}
