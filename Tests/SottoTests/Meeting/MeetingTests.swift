import TestSupport
import Testing

@testable import Sotto

/// A meeting of two values, without a relay.
struct MeetingTests {
    static let relay = "relay.example:7667"

    private func code(_ text: String) throws -> MeetingCode { try MeetingCode(parsing: text) }

    private func card(_ identity: Identity) -> Card {
        identity.card(relay: "tls://\(Self.relay)", issued: Timestamp(seconds: 1_800_000_000))
    }

    private static func text(_ card: Card) -> [UInt8] {
        JSON.object(card.record ?? JSONObject()).canonical()
    }

    @Test func eachSideGetsTheCardOfTheOther() throws {
        let made = MeetingCode(randomFor: 417)
        let heard = try code(made.text(address: "other.example"))
        #expect(heard.address == "other.example")
        let initiator = MeetingInitiator(made, relay: Self.relay)
        let responder = try MeetingKeys(joining: initiator.offer, heard, relay: Self.relay)
        let keys = try initiator.keys(responder.answer)
        let first = try keys.seal(card(People.alice))
        #expect(try Self.text(responder.open(first)) == Self.text(card(People.alice)))
        let second = try responder.seal(card(People.bob))
        #expect(try Self.text(keys.open(second)) == Self.text(card(People.bob)))
        // A relay sees no name and no key.
        for message in [initiator.offer, responder.answer, first, second] {
            #expect(!String(decoding: message.stored, as: UTF8.self).contains("alice"))
            #expect(try MeetingMessage(stored: message.stored) == message)
        }
    }

    @Test(arguments: [
        ("417-abandon-ability-able", MeetingTests.relay),
        ("417-ability-abandon-able", MeetingTests.relay),
        ("417-abandon-ability-about", "other.example:7667"),
    ]) func anotherCodeOrRelayFailsAtTheProof(_ text: String, _ relay: String) throws {
        let initiator = MeetingInitiator(try code("417-abandon-ability-about"), relay: Self.relay)
        let responder = try MeetingKeys(joining: initiator.offer, try code(text), relay: relay)
        #expect(throws: MeetingError.proof) { _ = try initiator.keys(responder.answer) }
        // An attacker who answers all the same learns nothing from the responder either.
        #expect(throws: MeetingError.proof) {
            _ = try responder.open(
                .firstCard(.init(box: randomBytes(99), proof: randomBytes(32))))
        }
    }

    @Test func aChangedMessageIsRefused() throws {
        let secret = MeetingCode(randomFor: 500)
        let initiator = MeetingInitiator(secret, relay: Self.relay)
        let responder = try MeetingKeys(joining: initiator.offer, secret, relay: Self.relay)
        guard case .answer(let share, let proof) = responder.answer else {
            Issue.record("no answer")
            return
        }
        let wrong: [(MeetingMessage, MeetingError)] = [
            (.answer(share: share, proof: Self.changed(proof)), .proof),
            (.answer(share: [UInt8](repeating: 0, count: 32), proof: proof), .share),
            (.answer(share: [UInt8](repeating: 0xFF, count: 32), proof: proof), .share),
            (initiator.offer, .order), (.end, .order),
        ]
        for (message, error) in wrong {
            #expect(throws: error) { _ = try initiator.keys(message) }
        }
        #expect(throws: MeetingError.share) {
            _ = try MeetingKeys(
                joining: .offer(
                    session: randomBytes(16), share: [UInt8](repeating: 0, count: 32)), secret,
                relay: Self.relay)
        }
        let keys = try initiator.keys(responder.answer)
        guard case .firstCard(let first) = try keys.seal(card(People.alice)) else {
            Issue.record("no card")
            return
        }
        for changed in [
            MeetingMessage.SealedCard(box: Self.changed(first.box), proof: first.proof),
            .init(box: first.box, proof: Self.changed(first.proof)),
            .init(box: [], proof: first.proof),
        ] {
            #expect(throws: MeetingError.proof) { _ = try responder.open(.firstCard(changed)) }
        }
        // A card that is sent back is not the other side's.
        #expect(throws: MeetingError.proof) { _ = try keys.open(.secondCard(first)) }
        #expect(throws: MeetingError.order) { _ = try keys.open(.firstCard(first)) }
    }

    /// The meeting that adds a device: the answer has the owner's card, and the other cards follow.
    @Test func aDeviceGetsTheOwnersCardWithTheAnswer() throws {
        let secret = MeetingCode(randomFor: 417)
        let initiator = MeetingInitiator(secret, relay: Self.relay, for: .device)
        let responder = try MeetingKeys(
            joining: initiator.offer, secret, relay: Self.relay, for: .device)
        let answer = try responder.answer(with: card(People.alice))
        #expect(try MeetingMessage(stored: answer.stored) == answer && answer.step == 2)
        #expect(!String(decoding: answer.stored, as: UTF8.self).contains("alice"))
        let keys = try initiator.keys(answer)
        #expect(try Self.text(keys.open(answer)) == Self.text(card(People.alice)))
        let first = try keys.seal(card(People.bob))
        #expect(try Self.text(responder.open(first)) == Self.text(card(People.bob)))
        let second = try responder.seal(card(People.alice))
        #expect(try Self.text(keys.open(second)) == Self.text(card(People.alice)))
        // The owner's card cannot stand for the second one, nor the other way round.
        guard case .deviceAnswer(let share, let box, let proof) = answer else {
            Issue.record("no answer")
            return
        }
        #expect(throws: MeetingError.proof) {
            _ = try keys.open(.secondCard(.init(box: box, proof: proof)))
        }
        #expect(throws: MeetingError.proof) {
            _ = try initiator.keys(
                .deviceAnswer(share: share, card: Self.changed(box), proof: proof))
        }
    }

    /// A code for a device opens no meeting of contacts, and the other way round.
    @Test func theTwoPurposesDoNotMix() throws {
        let secret = MeetingCode(randomFor: 417)
        let initiator = MeetingInitiator(secret, relay: Self.relay, for: .device)
        let contact = try MeetingKeys(joining: initiator.offer, secret, relay: Self.relay)
        #expect(throws: MeetingError.order) { _ = try initiator.keys(contact.answer) }
        guard case .answer(let share, let proof) = contact.answer else {
            Issue.record("no answer")
            return
        }
        #expect(throws: MeetingError.proof) {
            _ = try initiator.keys(.deviceAnswer(share: share, card: [], proof: proof))
        }
        let other = MeetingInitiator(secret, relay: Self.relay)
        let device = try MeetingKeys(
            joining: other.offer, secret, relay: Self.relay, for: .device)
        #expect(throws: MeetingError.order) {
            _ = try other.keys(device.answer(with: card(People.alice)))
        }
    }

    /// The card of a person with 8 devices fits.
    @Test func theLargestCardFitsInAMessage() throws {
        let list = try DeviceListTests.list((1...7).map { "machine \($0)" })
        let card = People.alice.card(relay: "tls://\(Self.relay)", issued: .now(), devices: list)
        let secret = MeetingCode(randomFor: 417)
        let initiator = MeetingInitiator(secret, relay: Self.relay, for: .device)
        let responder = try MeetingKeys(
            joining: initiator.offer, secret, relay: Self.relay, for: .device)
        let answer = try responder.answer(with: card)
        #expect(answer.stored.count < MeetingMessage.limit)
        let keys = try initiator.keys(answer)
        #expect(try keys.open(answer).devices == list)
    }

    private static func changed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 1
        return bytes
    }

    @Test func anInvalidCardIsRefused() throws {
        let secret = MeetingCode(randomFor: 500)
        let initiator = MeetingInitiator(secret, relay: Self.relay)
        let responder = try MeetingKeys(joining: initiator.offer, secret, relay: Self.relay)
        let keys = try initiator.keys(responder.answer)
        var record = try #require(card(People.alice).record)
        record["name"] = .string("mallory")
        let forged = try keys.seal(Card(stored: record))
        #expect(throws: MeetingError.card(.signature)) { _ = try responder.open(forged) }
        #expect(throws: MeetingError.card(.signature)) {
            _ = try keys.seal(Card(uri: People.alice.card().uri))
        }
    }
}

/// The spoken code.
struct MeetingCodeTests {
    @Test(arguments: [
        "417-orbit-velvet-sunset", "417 orbit velvet sunset", " 417-Orbit Velvet-SUNSET\n",
        "<417-orbit-velvet-sunset>",
    ]) func theFormIsFree(_ text: String) throws {
        let code = try MeetingCode(parsing: text)
        #expect(code.text() == "417-orbit-velvet-sunset")
        #expect(code.number == 417 && code.address == nil)
    }

    @Test func otherTextsAreRefused() {
        let wrong: [(String, MeetingCodeError)] = [
            ("", .number), ("orbit-velvet-able", .number), ("41-orbit-velvet-able", .number),
            ("0417-orbit-velvet-able", .number), ("1234567890-orbit-velvet-able", .number),
            ("417orbit-velvet-able", .number), ("417", .wordCount(0)),
            ("417-orbit-velvet", .wordCount(2)), ("417-orbit-velvet-able-able", .wordCount(4)),
            ("417-orbit-velvett-able", .unknownWord(position: 2)),
            ("417-orbit-velvet-7", .unknownWord(position: 3)),
            ("417-orbit-velvet-able@", .address), ("417-orbit-velvet-able@a b", .address),
            ("417-orbit-velvet-able@a/b", .address), ("417-orbit-velvet-able@a@b", .address),
        ]
        for (text, error) in wrong {
            #expect(throws: error, "\(text)") { _ = try MeetingCode(parsing: text) }
        }
    }

    @Test func eachCodeHasThreeWordsOfItsOwn() throws {
        var seen: Set<String> = []
        for number in Int64(100)..<400 {
            let code = MeetingCode(randomFor: number)
            let text = code.text()
            seen.insert(String(text.drop { $0 != "-" }))
            let again = try MeetingCode(parsing: text)
            #expect(again.text() == text && again.number == number)
        }
        #expect(seen.count == 300)
    }

    @Test func aRecordIsReadAsItWasWritten() throws {
        let messages: [MeetingRecord.Content] = [
            .place, .message(.end),
            .message(.offer(session: randomBytes(16), share: randomBytes(32))),
            .message(.answer(share: randomBytes(32), proof: randomBytes(32))),
            .message(.firstCard(.init(box: randomBytes(99), proof: randomBytes(32)))),
            .message(.secondCard(.init(box: randomBytes(99), proof: randomBytes(32)))),
        ]
        for content in messages {
            let record = MeetingRecord(number: 417, relay: "tcp://a:1", content)
            #expect(try MeetingRecord(record.record) == record)
            var other = record.record
            other["part"] = .string("other")
            #expect(throws: FieldError.member("part")) { _ = try MeetingRecord(other) }
        }
    }

    /// The largest card fits into a message.
    @Test func theLargestCardFits() throws {
        let box = randomBytes(RecordForm.card.bytes + XChaChaPoly.overhead)
        let message = MeetingMessage.firstCard(.init(box: box, proof: randomBytes(32)))
        #expect(message.stored.count <= MeetingMessage.limit)
        #expect(try MeetingMessage(stored: message.stored) == message)
    }
}
