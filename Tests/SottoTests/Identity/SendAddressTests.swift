import Sotto
import TestSupport
import Testing

struct SendAddressTests {
    let address = SendAddress()

    func sealed(to card: Card) throws -> Envelope {
        try Sealed.seal(
            body: Message.textBody("hello"), from: People.alice, to: card,
            time: Timestamp(seconds: 1_795_253_400))
    }

    @Test func eachSaltGivesItsOwnKey() throws {
        let again = try #require(SendAddress(salt: address.salt))
        #expect(again.id(of: People.bob) == address.id(of: People.bob))
        #expect(address.id(of: People.alice) != address.id(of: People.bob))
        #expect(SendAddress().id(of: People.bob) != address.id(of: People.bob))
        #expect(SendAddress(salt: [1, 2, 3]) == nil)
    }

    @Test func aCardWithAnAddressIsReadAndSigned() throws {
        let card = People.bob.card(address: address)
        let record = try #require(card.record)
        #expect(try Card(record: record).address == address.id(of: People.bob))
        var forged = record
        forged["address"] = .string(People.alice.id.description)
        #expect(throws: CardError.signature) { try Card(record: forged) }
    }

    @Test func onlyTheOuterFieldsChange() throws {
        let card = People.bob.card(address: address)
        let envelope = try sealed(to: card)
        let outside = envelope.addressed(to: card)
        #expect(outside.to == address.id(of: People.bob))
        let read = try Envelope(record: JSON.object(parsing: outside.record.serialized()))
        #expect(read.arrived(for: People.bob) == envelope)
        #expect(envelope.addressed(to: People.bob.card()) == envelope)
        #expect(
            try Sealed.open(read.arrived(for: People.bob), with: People.bob).from == People.alice.id
        )
        #expect(throws: SealedError.noMatch) {
            try Sealed.open(read.arrived(for: People.carol), with: People.carol)
        }
    }

    @Test func onlyTheRecipientReadsTheSender() throws {
        let card = People.bob.card(address: address)
        let envelope = Envelope(
            id: Envelope.newID(), suite: .ratchet, to: card.id, from: People.alice.id,
            time: .now(), payload: [:])
        let outside = envelope.addressed(to: card)
        #expect(outside.from == nil)
        let text = String(decoding: outside.record.serialized(), as: UTF8.self)
        #expect(!text.contains(People.alice.id.description) && !text.contains(card.id.description))
        #expect(outside.arrived(for: People.bob) == envelope)
        #expect(outside.arrived(for: People.carol).from == nil)
        // Each encryption gives another text.
        #expect(outside.payload["sender"] != envelope.addressed(to: card).payload["sender"])
        for damaged in ["", "AAAA", String(repeating: "A", count: 108)] {
            var payload = outside.payload
            payload["sender"] = .string(damaged)
            let other = Envelope(
                id: outside.id, suite: .ratchet, to: outside.to, time: outside.time,
                payload: payload)
            #expect(other.arrived(for: People.bob).from == nil)
        }
    }
}
