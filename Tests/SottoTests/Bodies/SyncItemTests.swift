import Sotto
import TestSupport
import Testing

/// The rule by which the devices of a person agree.
struct SyncItemTests {
    private static let devices = (0..<3).map { number in
        Identity(
            seed: SecretBytes(copying: sha256(Array("sync device \(number)".utf8))), name: ""
        ).device
    }
    private static let contact = KeyID(publicKey: sha256(Array("a contact".utf8)))

    private func item(
        _ counter: Int64, _ device: Int, _ decision: SyncItem.Decision
    ) -> SyncItem {
        SyncItem(counter: counter, device: Self.devices[device], .contact(Self.contact, decision))
    }

    @Test func theGreaterCounterCounts() {
        let old = item(1, 0, .removed)
        let new = item(2, 1, .name("bob"))
        #expect(new.wins(over: old) && !old.wins(over: new))
    }

    @Test func ofConcurrentItemsTheCautiousOneCounts() {
        let pairs: [(SyncItem.Decision, SyncItem.Decision)] = [
            (.removed, .name("bob")), (.blocked(true), .blocked(false)),
            (.trust(.trusted, key: nil), .trust(.verified, key: nil)),
            (.trust(.unverified, key: nil), .trust(.trusted, key: nil)),
        ]
        for (cautious, other) in pairs {
            for (a, b) in [(0, 1), (1, 0)] {
                #expect(item(7, a, cautious).wins(over: item(7, b, other)))
                #expect(!item(7, b, other).wins(over: item(7, a, cautious)))
            }
        }
    }

    @Test func ofEqualItemsThatOfTheSmallerDeviceCounts() {
        let order = Self.devices.indices.sorted {
            Self.devices[$0].description < Self.devices[$1].description
        }
        let (small, large) = (item(7, order[0], .name("bob")), item(7, order[1], .name("rob")))
        #expect(small.wins(over: large) && !large.wins(over: small))
    }

    /// The result after all items is the same in every order, and no item counts before itself.
    @Test func everyOrderGivesTheSameResult() {
        var random = Generator(seed: 38)
        for _ in 0..<2_000 {
            let items = (0..<Int.random(in: 2...7, using: &random)).map { _ in
                let decisions: [SyncItem.Decision] = [
                    .name("bob"), .name("rob"), .removed,
                ]
                return item(
                    Int64.random(in: 1...3, using: &random), Int.random(in: 0..<3, using: &random),
                    decisions.randomElement(using: &random) ?? .removed)
            }
            func winner(_ items: [SyncItem]) -> SyncItem {
                items.dropFirst().reduce(items[0]) { $1.wins(over: $0) ? $1 : $0 }
            }
            let first = winner(items)
            #expect(!first.wins(over: first))
            for _ in 0..<5 { #expect(winner(items.shuffled(using: &random)) == first) }
            for other in items where other != first { #expect(first.wins(over: other)) }
        }
    }

    @Test func aRecordIsReadBackAsTheSameItem() throws {
        let conversation = JSONObject([("peer", .string(Self.contact.description))])
        let time = Timestamp(seconds: 1_800_000_000)
        let id = Envelope.newID()
        let card = People.bob.card()
        let changes: [SyncItem.Change] = [
            .message(["v": .integer(1), "id": .string(id)], isSent: true, received: time),
            .message(["v": .integer(1), "id": .string(id)], isSent: false, received: time),
            .unsent(["v": .integer(1), "id": .string(id)], received: time),
            .read(conversation, ids: [id], time), .delete(conversation, ids: [id]),
            .conversation(conversation, .favourite(true)),
            .conversation(conversation, .muted(false)),
            .conversation(conversation, .name("friends")), .conversation(conversation, .name(nil)),
            .contact(Self.contact, .name("")), .contact(Self.contact, .removed),
            .contact(Self.contact, .trust(.verified, key: "age1x")),
            .contact(Self.contact, .trust(.trusted, key: nil)),
            .contact(Self.contact, .blocked(true)),
            .contact(Self.contact, .card(card.record ?? [:])),
            .contact(People.bob.id, .replaces(Self.contact, card: card.record ?? [:])),
            .news(Revocation(of: People.bob, issued: time).record),
        ]
        for change in changes {
            let item = SyncItem(counter: 5, device: Self.devices[0], change)
            #expect(try SyncItem(record: item.record) == item)
        }
        let parsed = try SyncBody.items(
            of: SyncBody.body(
                changes.map { SyncItem(counter: 5, device: Self.devices[0], $0).record }))
        #expect(parsed.count == changes.count)
    }

    @Test func aMalformedItemFailsAlone() throws {
        let good = item(5, 0, .removed).record
        func changed(_ name: String, _ value: JSON?) -> JSONObject {
            var record = good
            record[name] = value
            return record
        }
        let bad = [
            changed("counter", nil), changed("counter", .integer(0)),
            changed("counter", .integer(.max)), changed("counter", .integer(-1)),
            changed("device", .string("05")), changed("id", nil), changed("kind", nil),
            changed("removed", .bool(false)),
        ]
        for record in bad { #expect(throws: SyncError.self) { try SyncItem(record: record) } }
        // Kinds and decisions of later versions are skipped.
        #expect(try SyncItem(record: changed("kind", .string("later"))) == nil)
        #expect(try SyncItem(record: changed("removed", nil)) == nil)
        let items = try SyncBody.items(of: SyncBody.body([bad[0], good]))
        #expect(throws: SyncError.self) { try items[0].get() }
        #expect(try items[1].get() == item(5, 0, .removed))
        #expect(throws: SyncError.self) { try SyncBody.items(of: ["type": .string("sync")]) }
        #expect(throws: SyncError.self) {
            try SyncBody.items(
                of: SyncBody.body([JSONObject](repeating: good, count: SyncItem.mostItems + 1)))
        }
    }
}
