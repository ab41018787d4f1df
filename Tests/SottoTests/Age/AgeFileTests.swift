import TestSupport
import Testing

@testable import Sotto

struct AgeFileTests {
    static let classic = AgeAccess.recipients([.x25519(People.bob.ageKey.recipient)])
    static let hybrid = AgeAccess.recipients([.hybrid(People.bob.hybridKey.recipient)])
    static let passphrase = Passphrase(SecretBytes(copying: Array("correct horse".utf8)))

    static func open(_ file: [UInt8]) throws -> [UInt8] {
        try AgeFileReader.open(file, identities: People.ages(People.bob)) { passphrase }
    }

    /// The plaintext of `file` before an error, read in pieces.
    static func release(_ file: [UInt8], sizes: [Int] = [1 << 20]) -> Released {
        TestSupport.release {
            try AgeFileReader(
                PiecewiseSource(file, sizes: sizes), identities: People.ages(People.bob),
                passphrase: { passphrase })
        }
    }

    enum Kind: CaseIterable { case classic, hybrid, passphrase }

    static func access(_ kind: Kind) -> AgeAccess {
        switch kind {
        case .classic: classic
        case .hybrid: hybrid
        case .passphrase: .passphrase(passphrase, logN: 4)
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    func anySizeInAnyPiecesRoundTrips(_ kind: Kind, _ armored: Bool) throws {
        for size in [0, 1, 15, 16, 17, 65535, 65536, 65537, 131_072] {
            try withGenerator { generator in
                let data = generator.bytes(size)
                let sink = MemorySink()
                let writer = try AgeFile.writer(
                    for: Self.access(kind), armored: armored, to: sink)
                var start = 0
                for piece in generator.pieces(of: size, upTo: 70_000) {
                    try writer.write(Array(data[start..<(start + piece)]))
                    start += piece
                }
                try writer.finish()
                #expect(AgeFormat.isAge(sink.bytes.prefix(64)))
                let sizes = (0..<50).map { _ in generator.int(1..<5000) }
                let released = Self.release(sink.bytes, sizes: sizes)
                #expect(
                    released.error == nil && released.bytes == data,
                    "\(size) bytes, \(generator.comment)")
            }
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    func oneByteReadsWork(_ kind: Kind, _ armored: Bool) throws {
        let data = Array("one by one".utf8)
        let file = try AgeFile.seal(data, for: Self.access(kind), armored: armored)
        let released = Self.release(file, sizes: [1])
        #expect(released.error == nil && released.bytes == data)
    }

    @Test func theSizeIsThatOfThePlaintextPlusAFixedOverhead() throws {
        let empty = try AgeFile.seal([], for: Self.classic).count
        for size in [1, 1000, 65536, 65537, 200_000] {
            let file = try AgeFile.seal([UInt8](repeating: 0, count: size), for: Self.classic)
            #expect(file.count == empty + size + 16 * ((size + 65535) / 65536 - 1))
        }
    }

    @Test(arguments: [false, true])
    func everyTruncationIsRefusedAndReleasesNothing(_ armored: Bool) throws {
        let file = try AgeFile.seal(Array("short".utf8), for: Self.classic, armored: armored)
        // The last line feed of an armor is optional.
        for count in 0..<(file.count - (armored ? 1 : 0)) {
            let released = Self.release(Array(file[..<count]))
            #expect(released.error is AgeError, "\(count) bytes")
            #expect(released.bytes.isEmpty)
        }
    }

    @Test func everyFlippedBitIsRefusedAndReleasesNothing() throws {
        let file = try AgeFile.seal(Array("short".utf8), for: Self.classic)
        for bit in 0..<(file.count * 8) {
            let released = Self.release(file.flipping(bit: bit))
            #expect(released.error is AgeError, "bit \(bit)")
            #expect(released.bytes.isEmpty)
        }
    }

    @Test func aFlippedBitInAPostQuantumFileIsRefused() throws {
        let file = try AgeFile.seal(Array("short".utf8), for: Self.hybrid)
        for bit in stride(from: 0, to: file.count * 8, by: 29) {
            let released = Self.release(file.flipping(bit: bit))
            #expect(released.error is AgeError && released.bytes.isEmpty, "bit \(bit)")
        }
    }

    @Test func aFlippedBitInAnArmorIsRefused() throws {
        let file = try AgeFile.seal(
            [UInt8](repeating: 9, count: 100), for: Self.classic, armored: true)
        for bit in 0..<(file.count * 8) {
            let released = Self.release(file.flipping(bit: bit))
            #expect(released.error is AgeError && released.bytes.isEmpty, "bit \(bit)")
        }
    }

    @Test func aChangeInALongFileReleasesOnlyTheChunksBeforeIt() throws {
        try withGenerator { generator in
            let data = generator.bytes(200_000)
            let file = try AgeFile.seal(data, for: Self.classic)
            let payload = file.count - 200_000 - 4 * 16
            for _ in 0..<60 {
                let bit = generator.int(payload * 8..<file.count * 8)
                let released = Self.release(file.flipping(bit: bit))
                let chunk = (bit / 8 - payload) / (65536 + 16)
                #expect(released.error as? AgeError == .payload, generator.comment)
                #expect(released.bytes == Array(data[..<(chunk * 65536)]), generator.comment)
                let cut = generator.int(payload..<file.count)
                let short = Self.release(Array(file[..<cut]))
                #expect(short.error is AgeError, generator.comment)
                #expect(data.starts(with: short.bytes) && short.bytes.count < data.count)
            }
        }
    }

    @Test func movedRepeatedMissingAndForeignChunksAreRefused() throws {
        let data = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 >> 8) }
        let file = try AgeFile.seal(data, for: Self.classic)
        let payload = file.count - 200_000 - 4 * 16
        let head = Array(file[..<payload])
        let size = 65536 + 16
        let chunks = (0..<4).map { index in
            Array(file[(payload + index * size)..<min(payload + (index + 1) * size, file.count)])
        }
        let foreign = Array(try AgeFile.seal(data, for: Self.classic)[payload..<(payload + size)])
        #expect(Self.release(head + chunks.joined()).bytes == data)
        for order in [
            [1, 0, 2, 3], [0, 2, 1, 3], [0, 0, 1, 3], [0, 1, 3], [0, 1, 2], [0], [3], [],
        ] {
            let released = Self.release(head + order.flatMap { chunks[$0] })
            #expect(released.error is AgeError, "\(order)")
            let kept = zip(order, 0...).prefix { $0 == $1 }.count
            #expect(released.bytes.count <= kept * 65536 && data.starts(with: released.bytes))
        }
        let mixed = Self.release(head + chunks[0] + foreign + chunks[2] + chunks[3])
        #expect(mixed.error as? AgeError == .payload && mixed.bytes.count == 65536)
        for tail in [[0], chunks[3], file] {
            let released = Self.release(file + tail)
            #expect(released.error is AgeError)
            #expect(released.bytes.count < data.count)
        }
    }

    @Test func onlyTheRecipientsOpenAFile() throws {
        let people = [People.alice, People.bob]
        for access in [
            AgeAccess.recipients(people.map { .hybrid($0.hybridKey.recipient) }),
            .recipients(people.map { .x25519($0.ageKey.recipient) }),
        ] {
            let file = try AgeFile.seal(Array("both".utf8), for: access)
            for person in people {
                #expect(
                    try AgeFileReader.open(file, identities: People.ages(person))
                        == Array("both".utf8))
            }
            #expect(throws: AgeError.noMatch) {
                try AgeFileReader.open(file, identities: People.ages(People.carol))
            }
            #expect(throws: AgeError.noMatch) { try AgeFileReader.open(file, identities: []) }
        }
    }

    @Test func postQuantumAndClassicRecipientsAreNotMixed() {
        #expect(throws: AgeError.mixedRecipients) {
            try AgeFile.seal(
                [],
                for: .recipients([
                    .hybrid(People.bob.hybridKey.recipient), .x25519(People.alice.ageKey.recipient),
                ]))
        }
        #expect(throws: AgeError.noRecipients) { try AgeFile.seal([], for: .recipients([])) }
    }

    @Test func thePassphraseIsAskedForOnceAndOnlyForAPassphraseFile() throws {
        var asked = 0
        let file = try AgeFile.seal([7], for: Self.access(.passphrase))
        let plain = try AgeFileReader.open(file, identities: People.ages(People.bob)) {
            asked += 1
            return Self.passphrase
        }
        #expect(plain == [7] && asked == 1)
        _ = try AgeFileReader.open(
            try AgeFile.seal([7], for: Self.classic), identities: People.ages(People.bob)
        ) {
            asked += 1
            return nil
        }
        #expect(asked == 1)
        #expect(throws: AgeError.passphraseNeeded) { try AgeFileReader.open(file, identities: []) }
        #expect(throws: AgeError.wrongPassphrase) {
            try AgeFileReader.open(file, identities: []) {
                Passphrase(SecretBytes(copying: Array("correct horsf".utf8)))
            }
        }
    }

    @Test(arguments: [23, 30, 63, 64, 99])
    func aWorkFactorAboveTheLimitIsRefusedAtOnce(_ logN: Int) throws {
        #expect(AgeScrypt.maximumLogN == 22)
        let stanza = AgeStanza(
            type: "scrypt",
            arguments: [Base64.raw.encode([UInt8](repeating: 1, count: 16)), String(logN)],
            body: [UInt8](repeating: 0, count: 32))
        let key = SecretBytes(randomCount: 16)
        let file = AgeHeader.encode([stanza], fileKey: key) + [UInt8](repeating: 0, count: 32)
        #expect(throws: AgeError.workFactor(logN)) { try Self.open(file) }
    }

    @Test func aPassphraseStanzaIsTheOnlyOne() throws {
        let key = SecretBytes(randomCount: 16)
        let scrypt = try AgeScrypt.wrap(key, passphrase: Self.passphrase, logN: 4)
        let other = AgeX25519.wrap(key, to: People.bob.ageKey.recipient)!
        for stanzas in [[scrypt, other], [other, scrypt], [scrypt, scrypt]] {
            let file = AgeHeader.encode(stanzas, fileKey: key) + [UInt8](repeating: 0, count: 32)
            #expect(throws: AgeError.header("scrypt with another stanza")) {
                try Self.open(file)
            }
        }
    }

    @Test func unknownStanzasAreSkippedButAuthenticated() throws {
        let key = SecretBytes(randomCount: 16)
        let stanza = AgeX25519.wrap(key, to: People.bob.ageKey.recipient)!
        let unknown = AgeStanza(
            type: "future", arguments: ["a", "b"], body: [UInt8](repeating: 5, count: 48))
        let header = AgeHeader.encode([unknown, stanza], fileKey: key)
        let sink = MemorySink()
        let payload = try AgePayload.writer(fileKey: key, to: sink)
        try payload.write([1, 2, 3])
        try payload.finish()
        #expect(try Self.open(header + sink.bytes) == [1, 2, 3])
        let text = String(decoding: header, as: UTF8.self)
        let renamed = text.replacing("-> future a b", with: "-> future a c")
        #expect(throws: AgeError.headerAuthentication) {
            try Self.open(Array(renamed.utf8) + sink.bytes)
        }
    }

    @Test func aHugeHeaderIsRefusedBeforeItIsBuffered() throws {
        let line = Array((String(repeating: "A", count: 64) + "\n").utf8)
        var header = Array("age-encryption.org/v1\n-> X25519 a\n".utf8)
        header.reserveCapacity(18 << 20)
        while header.count < 17 << 20 { header += line }
        #expect(throws: AgeError.headerTooLong) { try Self.open(header) }
        #expect(throws: AgeError.headerTooLong) {
            try Self.open(
                Array("age-encryption.org/v1\n-> ".utf8) + [UInt8](repeating: 65, count: 17 << 20))
        }
    }

    // MARK: The audience

    @Test func severalRecipientsOfASignedFileAreNamedInsideTheHeader() throws {
        let recipients: [AgeRecipient] = [People.bob, People.alice].map {
            .hybrid($0.hybridKey.recipient)
        }
        func reader(_ recipients: [AgeRecipient], named: Bool) throws -> AgeFileReader {
            let sink = MemorySink()
            let writer = try AgeFile.writer(
                for: .recipients(recipients), namesAudience: named, to: sink)
            try writer.finish()
            for recipient in recipients {
                #expect(!String(decoding: sink.bytes, as: UTF8.self).contains(recipient.text))
            }
            return try AgeFileReader(
                MemorySource(sink.bytes), identities: People.ages(People.bob), passphrase: { nil })
        }
        let named = try reader(recipients, named: true)
        #expect(named.namedRecipients == recipients.map(\.text).sorted())
        #expect(named.openedBy == recipients[0])
        #expect(try reader(recipients, named: false).namedRecipients == nil)
        #expect(try reader([recipients[0]], named: true).namedRecipients == nil)
    }

    @Test func anAudienceCopiedFromAnotherFileIsNotRead() throws {
        let mine: [AgeRecipient] = [.x25519(People.bob.ageKey.recipient)]
        let (key, other) = (SecretKey(), SecretKey())
        let foreign = AgeAudience.stanza(
            mine + [.x25519(People.alice.ageKey.recipient)], fileKey: other.bytes)
        let stanza = AgeX25519.wrap(key.bytes, to: People.bob.ageKey.recipient)!
        let sink = MemorySink()
        try sink.write(AgeHeader.encode([stanza, foreign], fileKey: key.bytes))
        try AgePayload.writer(fileKey: key.bytes, to: sink).finish()
        let reader = try AgeFileReader(
            MemorySource(sink.bytes), identities: People.ages(People.bob), passphrase: { nil })
        #expect(reader.namedRecipients == nil)
    }

    private final class SecretKey { let bytes = SecretBytes(randomCount: 16) }
}

struct AgeArmorTests {
    let data = [UInt8](repeating: 0x55, count: 100)

    func armored() throws -> String {
        String(
            decoding: try AgeFile.seal(data, for: AgeFileTests.classic, armored: true),
            as: UTF8.self)
    }

    @Test func linesHave64Characters() throws {
        let lines = try armored().split(separator: "\n")
        #expect(lines.first == "-----BEGIN AGE ENCRYPTED FILE-----")
        #expect(lines.last == "-----END AGE ENCRYPTED FILE-----")
        #expect(lines.dropFirst().dropLast(2).allSatisfy { $0.count == 64 })
        #expect((1...64).contains(lines[lines.count - 2].count))
    }

    @Test func whiteSpaceAroundAndCRLFAreAccepted() throws {
        let text = try armored()
        for form in [
            text, "\n\n \t" + text, text + " \r\n\t\n", String(text.dropLast()),
            text.replacing("\n", with: "\r\n"),
        ] {
            #expect(try AgeFileTests.open(Array(form.utf8)) == data)
        }
    }

    @Test func anyOtherFormIsRefused() throws {
        let text = try armored()
        let lines = text.split(separator: "\n").map(String.init)
        let body = lines[1..<(lines.count - 1)].joined()
        func wrapped(_ size: Int) -> String {
            var out = lines[0] + "\n"
            var rest = Substring(body)
            while !rest.isEmpty {
                out += rest.prefix(size) + "\n"
                rest = rest.dropFirst(size)
            }
            return out + lines.last! + "\n"
        }
        #expect(try AgeFileTests.open(Array(wrapped(64).utf8)) == data)
        for (why, form) in [
            ("garbage before", "x" + text), ("garbage after", text + "x"),
            ("a second file", text + text), ("lines of 63", wrapped(63)),
            ("lines of 65", wrapped(65)), ("lines of 76", wrapped(76)),
            ("one line", wrapped(100_000)),
            ("an empty line", lines[0] + "\n\n" + text.split(separator: "\n", maxSplits: 1)[1]),
            ("a space at a line's end", text.replacing("\n", with: " \n")),
            ("a space in a line", text.replacing(lines[1], with: " " + lines[1])),
            ("no end", text.replacing(lines.last!, with: "")),
            ("another begin", text.replacing("BEGIN AGE", with: "BEGIN  AGE")),
            ("lower case", text.replacing("-----END", with: "-----end")),
            ("another label", text.replacing("AGE ENCRYPTED FILE", with: "PGP MESSAGE")),
            ("url-safe", text.replacing("/", with: "_").replacing("+", with: "-")),
            ("carriage returns alone", text.replacing("\n", with: "\r")),
            ("a header line", text.replacing(lines[1], with: "Comment: x\n" + lines[1])),
        ] where form != text {
            #expect(throws: AgeError.self, "\(why)") { try AgeFileTests.open(Array(form.utf8)) }
        }
    }
}
