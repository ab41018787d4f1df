import TestSupport
import Testing

@testable import Sotto

struct MinisignTests {
    func key() throws -> SigningKey {
        SigningKey(
            seed: SecretBytes(copying: try #require(bytes(hex: OpenSSHKeyTests.seed))))
    }

    func hash(_ bytes: [UInt8]) -> [UInt8] {
        let hash = MinisignHash()
        bytes.withUnsafeBytes { hash.write($0) }
        hash.finish()
        return hash.value
    }

    @Test func theHashIsBLAKE2b512() {
        // RFC 7693, appendix A.
        #expect(
            hex(hash(Array("abc".utf8)))
                == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    }

    @Test func theIDInAPublicKeyFileIsTheBeginningOfTheKey() throws {
        let lines = MinisignKey.publicFile(try key().publicKey).split(separator: "\n")
        #expect(lines[0] == "untrusted comment: minisign public key B70AB18201985AD7")
        #expect(
            Base64.standard.decode(lines[1]).map { hex($0) }
                == "4564d75a980182b10ab7" + OpenSSHKeyTests.publicKey)
    }

    @Test func aSignatureRoundTripsAndVerifies() throws {
        let file = hash([1, 2, 3])
        let made = try MinisignSignature(
            hash: file, trustedComment: "timestamp:1\tfile:a", by: key())
        let read = try MinisignSignature(Array(made.text.utf8))
        #expect(read == made)
        try read.verify(hash: file, by: key().publicKey)
        #expect(throws: MinisignError.signature) {
            try read.verify(hash: hash([1, 2]), by: key().publicKey)
        }
        let changed = made.text.replacing("timestamp:1", with: "timestamp:2")
        #expect(throws: MinisignError.trustedComment) {
            try MinisignSignature(Array(changed.utf8)).verify(hash: file, by: key().publicKey)
        }
    }

    /// minisign 0.11 accepts each of these, and none of the others.
    @Test func theFormsThatMinisignAcceptsAreRead() throws {
        let file = hash([1, 2, 3])
        let made = try MinisignSignature(hash: file, trustedComment: "a comment", by: key())
        let text = Array(made.text.utf8)
        let lines = text.split(separator: 0x0A).map(Array.init)
        func joined(_ lines: [[UInt8]], _ end: [UInt8] = [0x0A]) -> [UInt8] {
            lines.flatMap { $0 + end }
        }
        func changed(_ index: Int, _ more: [UInt8]) -> [UInt8] {
            var lines = lines
            lines[index] += more
            return joined(lines)
        }
        let accepted = [
            text, text.dropLast(), joined(lines, [0x0D, 0x0A]), text + [0x0A], text + [0x0D, 0x0A],
            text + Array("-- \ntext".utf8), text + [0xFF, 0, 0x0A], changed(0, [0xFC]),
            changed(0, Array("\rjunk".utf8)), changed(2, Array("\rjunk".utf8)),
            text + [UInt8](repeating: 0x78, count: 100_000),
        ].map { Array($0) }
        for bytes in accepted {
            try MinisignSignature(Array(bytes.prefix(MinisignSignature.limit)))
                .verify(hash: file, by: key().publicKey)
        }
        var parts = lines
        parts.insert([], at: 2)
        for bytes in [
            [0x0A] + text, joined(parts), changed(1, [0x20]), changed(3, [0x09]), [0x20] + text,
            joined(lines, [0x0D]),
        ] {
            #expect(throws: MinisignError.form) { try MinisignSignature(bytes) }
        }
        // A trusted comment in Latin-1 is signed as its bytes.
        let latin1: [UInt8] = [0x4D, 0xFC]
        let body = try #require(Base64.standard.decode(utf8: lines[1][...]))
        let global = try key().sign(Array(body[10...]) + latin1)
        let signed = try MinisignSignature(
            joined([
                lines[0], lines[1], Array("trusted comment: ".utf8) + latin1,
                Array(Base64.standard.encode(global).utf8),
            ]))
        try signed.verify(hash: file, by: key().publicKey)
        #expect(signed.trustedComment == "M\u{FFFD}")
    }

    @Test func aLegacySignatureIsRecognized() throws {
        let made = try MinisignSignature(hash: hash([]), trustedComment: "", by: key())
        var lines = made.text.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        var body = try #require(Base64.standard.decode(lines[1]))
        body[1] = UInt8(ascii: "d")
        lines[1] = Base64.standard.encode(body)
        let text = lines.joined(separator: "\n")
        #expect(throws: MinisignError.legacy) { try MinisignSignature(Array(text.utf8)) }
    }

    @Test(arguments: ["a\nb", "\u{1b}[2J", String(repeating: "a", count: 4097)])
    func aCommentThatWouldBreakTheFileIsNotSigned(_ comment: String) throws {
        #expect(throws: MinisignError.comment(limit: 4096)) {
            try MinisignSignature(hash: hash([]), trustedComment: comment, by: key())
        }
    }

    @Test func aTruncatedSignatureIsMalformed() throws {
        let text = Array(
            try MinisignSignature(hash: hash([]), trustedComment: "c", by: key()).text.utf8)
        for count in 0..<(text.count - 1) {
            #expect(throws: MinisignError.form) { try MinisignSignature(Array(text.prefix(count))) }
        }
    }

    @Test func anIDIsWrittenAsInMinisign() {
        // The id is a number, stored with its lowest byte first. minisign 0.11 prints it without leading zeros.
        for (id, text) in [
            ([1, 2, 3, 4, 5, 6, 7, 8], "807060504030201"), ([0xAB, 0, 0, 0, 0, 0, 0, 0], "AB"),
            ([UInt8](repeating: 0, count: 8), "0"),
            ([0, 0, 0, 0, 0, 0, 0, 0xF0], "F000000000000000"),
        ] as [([UInt8], String)] {
            let file = MinisignKey.publicFile(id + [UInt8](repeating: 9, count: 24))
            #expect(file.hasPrefix("untrusted comment: minisign public key \(text)\n"))
        }
    }
}
