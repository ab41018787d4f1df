import Sotto
import SottoMessengers
import TestSupport
import Testing

struct Whisper2MessageTests {
    @Test func aMessageIsOpenedAndVerified() throws {
        let pair = try Whisper2Pair()
        let hints = Whisper2Hints(
            kind: .image, replyTo: Envelope.newID(),
            reactions: ["👍": .array([.string(Whisper2Vectors.bobID.description)])])
        for group in [nil, Whisper2Vectors.group] {
            let message = try pair.message("hello, bob", hints: hints, group: group)
            let read = try Whisper2Message(
                record: JSON.object(parsing: message.record.serialized()))
            #expect(read == message && read.untrusted == hints && read.group == group)
            let opened = try read.open(
                with: pair.bob, as: Whisper2Vectors.bobID, from: pair.aliceContact)
            #expect(opened.plaintext == Array("hello, bob".utf8) && opened.isVerified)
            #expect(read.frame.isSigned(by: pair.alice.signingKey))
            #expect(!read.frame.isSigned(by: pair.bob.signingKey))
        }
    }

    @Test func aMessageIsForItsRecipientAndFromItsSender() throws {
        let pair = try Whisper2Pair()
        let message = try pair.message()
        #expect(throws: Whisper2OpenError.notForUs) {
            try message.open(
                with: pair.bob, as: Whisper2Vectors.aliceID, from: pair.aliceContact)
        }
        #expect(throws: Whisper2OpenError.otherSender) {
            try message.open(with: pair.bob, as: Whisper2Vectors.bobID, from: pair.bobContact)
        }
        // Another account's keys under the sender's id.
        let carol = try Whisper2Vectors.person("carol24").keys()
        let impostor = carol.contact(Whisper2Vectors.aliceID)
        #expect(
            pair.failure(message.record, from: impostor).isError(Whisper2OpenError.authentication))
        #expect(throws: Whisper2OpenError.authentication) {
            try message.open(with: carol, as: Whisper2Vectors.bobID, from: pair.aliceContact)
        }
    }

    @Test func aTextIsUTF8OfAtMost8000Bytes() throws {
        let pair = try Whisper2Pair()
        let longest = String(repeating: "é", count: 4000)
        #expect(pair.failure(try pair.message(longest).record) == nil)
        #expect(throws: Whisper2SealError.tooLong(limit: 8000)) { try pair.message(longest + "!") }
        #expect(throws: Whisper2SealError.notText) {
            try Whisper2Message.seal(
                [0xFF], with: pair.alice, from: Whisper2Vectors.aliceID, to: pair.bobContact,
                time: 0)
        }
        // A sender that declares other content to be text.
        var record = try pair.message(longest + "!", hints: Whisper2Hints(kind: .file)).record
        #expect(pair.failure(record) == nil)
        record["msgType"] = .string("text")
        #expect(pair.failure(record).isError(Whisper2OpenError.text(limit: 8000)))
    }

    @Test func badMembersAreRefusedByName() throws {
        let pair = try Whisper2Pair()
        let record = try pair.message().record
        func text(_ count: Int) -> JSON {
            .string(Base64.standard.encode([UInt8](repeating: 0, count: count)))
        }
        let bad: [(String, [JSON?])] = [
            ("messageId", [nil, .string("00000000-0000-4000-8000-00000000000A"), .integer(1)]),
            ("from", [nil, .string("WSP-YS3T-HJGR-KQBZ\n"), .string("wsp-ys3t-hjgr-kqbz")]),
            ("to", [nil, .string("WSP-WI7U-4VDX-HXY1")]),
            ("groupId", [.string(""), .string("a\nb"), .integer(1), .string("a\u{85}b")]),
            ("msgType", [nil, .string("texts"), .null]),
            (
                "timestamp",
                [
                    nil, .number(1.5), .string("1730000000000"), .integer(-1), .integer(1 << 53),
                    .number(1_730_000_000_000),
                ]
            ),
            ("nonce", [nil, text(23), text(25), .string("!")]),
            ("ciphertext", [nil, text(15), .string("AA")]),
            ("sig", [nil, text(63), text(65)]),
            ("replyTo", [.string("x"), .integer(1)]),
            ("reactions", [.array([]), .object(["a": .string("b")]), .object(["\n": .array([])])]),
            ("attachment", [.string("x")]),
            ("protocolVersion", [nil, .string("1")]),
        ]
        for (name, values) in bad {
            for value in values {
                var changed = record
                changed[name] = value
                #expect(
                    pair.failure(changed).isError(Whisper2RecordError.member(name)),
                    "\(name) \(value as Any)")
            }
        }
        for name in ["protocolVersion", "cryptoVersion"] {
            var changed = record
            changed[name] = .integer(2)
            #expect(pair.failure(changed).isError(Whisper2RecordError.version(2)))
        }
        // Non-canonical base64 of the same bytes is not the string that was signed.
        let nonce = try #require(record["nonce"]?.string)
        var changed = record
        changed["nonce"] = .string(nonce + "====")
        #expect(pair.failure(changed).isError(Whisper2RecordError.member("nonce")))
        for name in ["replyTo", "reactions", "attachment", "groupId"] {
            var changed = record
            changed[name] = .null
            #expect(pair.failure(changed) == nil)
        }
    }

    @Test func aFractionalTimestampIsRefused() throws {
        let pair = try Whisper2Pair()
        let text = String(decoding: try pair.message().record.serialized(), as: UTF8.self)
        for spelled in ["1730000000000.0", "1.73e12", "01730000000000", "\"1730000000000\""] {
            let changed = text.replacing("1730000000000", with: spelled)
            #expect(throws: (any Error).self) {
                try Whisper2Message(record: JSON.object(parsing: Array(changed.utf8)))
            }
        }
    }

    @Test func fieldsThatReadersWouldRefuseAreNotWritten() throws {
        let pair = try Whisper2Pair()
        func failure(
            id: String = Envelope.newID(), group: String? = nil, time: Int64 = 0,
            hints: Whisper2Hints = Whisper2Hints()
        ) -> Whisper2SealError? {
            do throws(Whisper2SealError) {
                _ = try Whisper2Message.seal(
                    [], hints: hints, with: pair.alice, from: Whisper2Vectors.aliceID,
                    to: pair.bobContact, group: group, id: id, time: time)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure() == nil)
        #expect(failure(id: "x\ny") == .field("id"))
        #expect(failure(group: "a\nb") == .field("to") && failure(group: "") == .field("to"))
        #expect(failure(time: -1) == .field("timestamp"))
        #expect(failure(time: 1 << 53) == .field("timestamp"))
        #expect(failure(hints: Whisper2Hints(replyTo: "x")) == .field("replyTo"))
        #expect(failure(hints: Whisper2Hints(reactions: ["a": .null])) == .field("reactions"))
    }

    @Test func lowOrderKeysAreRefused() throws {
        let pair = try Whisper2Pair()
        for point in BadKeys.loadPoints().x25519LowOrderPointsMustBeRefused {
            let weak = Whisper2Contact(
                id: Whisper2Vectors.bobID, encryptionKey: point.bytes, signingKey: nil)
            #expect(throws: Whisper2SealError.recipientKey) {
                try Whisper2Message.seal(
                    [], with: pair.alice, from: Whisper2Vectors.aliceID, to: weak, time: 0)
            }
            #expect(throws: Whisper2AddURLError.key) {
                try Whisper2AddURL.contact(Whisper2AddURL.text(weak))
            }
            let sender = Whisper2Contact(
                id: Whisper2Vectors.aliceID, encryptionKey: point.bytes,
                signingKey: pair.alice.signingKey)
            #expect(
                pair.failure(try pair.message().record, from: sender)
                    .isError(Whisper2OpenError.authentication))
        }
    }

    @Test func aFlippedBitAnywhereIsRefused() throws {
        let pair = try Whisper2Pair()
        let record = try pair.message().record
        try withGenerator { generator in
            for name in ["nonce", "ciphertext", "sig"] {
                let bytes = try #require(
                    record[name]?.string.flatMap { Base64.standard.decode($0) })
                for _ in 0..<20 {
                    var changed = record
                    changed[name] = .string(
                        Base64.standard.encode(
                            bytes.flipping(bit: generator.int(0..<bytes.count * 8))))
                    #expect(
                        pair.failure(changed).isError(Whisper2OpenError.authentication),
                        generator.comment)
                }
            }
        }
    }

    @Test func aGroupMessageHasABoxForEachMember() throws {
        let pair = try Whisper2Pair()
        let members = try (0..<Whisper2GroupMessage.memberLimit).map { index in
            let keys = index == 0 ? pair.bob : Self.members[index % Self.members.count]
            return (keys, try #require(Self.id(index)))
        }
        let recipients = members.map { Whisper2GroupMessage.Recipient($0.0.contact($0.1)) }
        let sent = try Whisper2GroupMessage.seal(
            Array("all".utf8), with: pair.alice, from: Whisper2Vectors.aliceID, to: recipients,
            group: Whisper2Vectors.group, time: 5)
        let read = try Whisper2GroupMessage(record: JSON.object(parsing: sent.record.serialized()))
        #expect(read == sent && read.messages.count == 49)
        for (keys, id) in members {
            let own = try #require(read.message(to: id))
            // The message for a member is a complete record.
            let message = try Whisper2Message(record: own.record)
            #expect(message == own && message.group == Whisper2Vectors.group)
            #expect(
                try message.open(with: keys, as: id, from: pair.aliceContact).plaintext
                    == Array("all".utf8))
        }
        #expect(read.message(to: WhisperID.random()) == nil)

        func failure(_ recipients: [Whisper2GroupMessage.Recipient]) -> Whisper2SealError? {
            do throws(Whisper2SealError) {
                _ = try Whisper2GroupMessage.seal(
                    [], with: pair.alice, from: Whisper2Vectors.aliceID, to: recipients,
                    group: Whisper2Vectors.group, time: 5)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure([]) == .recipientCount(0))
        #expect(
            failure(recipients + [.init(pair.bob.contact(.random()))]) == .recipientCount(50))
        #expect(failure([recipients[0], recipients[0]]) == .duplicateRecipient)

        var record = sent.record
        let elements = try #require(record["recipients"]?.array)
        for (changed, expected) in [
            ([], Whisper2RecordError.recipientCount(0)),
            (elements + elements, .recipientCount(98)),
            ([elements[0], elements[0]], .duplicateRecipient), ([.null], .member("recipients")),
        ] {
            record["recipients"] = .array(changed)
            #expect(throws: expected) { try Whisper2GroupMessage(record: record) }
        }
    }

    static let members = (0..<4).map { _ in
        Whisper2Keys(mnemonic: Mnemonic(randomWordCount: 12))
    }

    static func id(_ index: Int) -> WhisperID? {
        index == 0
            ? Whisper2Vectors.bobID
            : WhisperID(
                symbols: [UInt8](repeating: 3, count: 8) + [UInt8(index / 32), UInt8(index % 32)])
    }

    @Test(arguments: Whisper2FrameType.allCases)
    func callsAreSignedUnderTheirOwnType(_ type: Whisper2FrameType) throws {
        let pair = try Whisper2Pair()
        func seal() throws -> Whisper2Call {
            try Whisper2Call.seal(
                Array("{}".utf8), type: type,
                hints: .init(
                    isVideo: type == .callInitiate ? true : nil,
                    reason: type == .callEnd ? "busy" : nil),
                with: pair.alice, from: Whisper2Vectors.aliceID, to: pair.bobContact, time: 1)
        }
        guard type.isCall else {
            #expect(throws: Whisper2SealError.field("type")) { try seal() }
            return
        }
        let call = try seal()
        let read = try Whisper2Call(record: JSON.object(parsing: call.record.serialized()))
        #expect(read == call)
        let opened = try read.open(
            with: pair.bob, as: Whisper2Vectors.bobID, from: pair.aliceContact)
        #expect(opened.plaintext == Array("{}".utf8) && opened.isVerified)
        for other in Whisper2FrameType.allCases where other.isCall && other != type {
            var record = call.record
            record["type"] = .string(other.rawValue)
            #expect(throws: Whisper2OpenError.authentication) {
                try Whisper2Call(record: record).open(
                    with: pair.bob, as: Whisper2Vectors.bobID, from: pair.aliceContact)
            }
        }
        var record = call.record
        record["type"] = .string("send_message")
        #expect(throws: Whisper2RecordError.member("type")) { try Whisper2Call(record: record) }
        #expect(throws: Whisper2SealError.field("reason")) {
            try Whisper2Call.seal(
                [], type: type, hints: .init(reason: "bored"), with: pair.alice,
                from: Whisper2Vectors.aliceID, to: pair.bobContact, time: 1)
        }
    }

    @Test func idsAreRandomAndTheirChecksumFindsAWrongSymbol() throws {
        for _ in 0..<50 {
            let id = WhisperID.random()
            #expect(WhisperID(id.description) == id && id.isChecksumValid)
            var characters = Array(id.description.utf8)
            characters[5] =
                characters[5] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let wrong = try #require(WhisperID(String(decoding: characters, as: UTF8.self)))
            #expect(!wrong.isChecksumValid)
        }
        #expect(WhisperID.random() != WhisperID.random())
    }

    @Test func anIdentityHasTheAccountOfItsWords() throws {
        let known = Whisper2Vectors.person("frozen")
        let identity = Identity(mnemonic: try Mnemonic(parsing: known.mnemonic), name: "x")
        #expect(try identity.whisper2Keys().encryptionKey == known.encPublicApp.bytes)
        #expect(
            try identity.whisper2Keys(rule: .serverVector).encryptionKey
                == known.encPublicServerVector.bytes)
    }
}
