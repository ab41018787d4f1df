import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient

/// The outcome of an envelope that another process took from the outbox.
@Suite struct DeliveryTests {
    @Test func outcomesRoundTrip() {
        for outcome in [
            DeliveryOutcome(.stored), DeliveryOutcome(.duplicate), DeliveryOutcome(.dropped),
            DeliveryOutcome(.expired),
            DeliveryOutcome(.rejected, Refusal(.tooLarge)),
            DeliveryOutcome(.rejected, Refusal(code: 7, reason: "of a later version")),
        ] {
            #expect(DeliveryOutcome(text: outcome.text) == outcome)
        }
    }

    @Test(arguments: [
        "", " ", "Stored", "stored?", "kept", "queued", "deferred", "unknown", "stored 400",
        "rejected x tooLarge", "rejected 400", "delivered 1 2",
    ])
    func invalidOutcomesAreUnknown(_ text: String) {
        #expect(DeliveryOutcome(text: text).status == .unknown)
    }

    /// Another process, perhaps of a later version, sends this one's mail and notes an unknown outcome.
    @Test func anUnreadableOutcomeIsNotStored() throws {
        let scratch = TemporaryDirectory()
        let directory = try StateDirectory(path: scratch.path)
        let relay = RelayURL(host: "127.0.0.1", port: 1)
        let other = try Outbox(directory: directory, lockTimeout: 20)
        let lock = try other.lock(of: relay.text)
        #expect(lock.tryLock())
        let outbox = try Outbox(directory: directory, lockTimeout: 20)
        let delivery = try Delivery(
            outbox: outbox, queue: relay.text, relay: relay, lockTimeout: 20, blobs: nil,
            progress: { _, _, _ in }, waits: nil)
        let items = ["a", "b", "c"].map {
            Outbox.Item(id: $0, to: "bob", envelope: Array($0.utf8))
        }
        let numbers = try outbox.append(items, relay: relay.text)
        try other.settle(Array(zip(numbers, ["stored", "teleported", "dropped"])))
        delivery.submit(stored: Array(zip(numbers, items)))
        delivery.finish()
        var results: [DeliveryResult] = []
        let ending = try delivery.run(on: RelayLink.makeGroup()) { results += $0 }
        #expect(ending.left == 0)
        #expect(results.map(\.id) == ["a", "b", "c"])
        #expect(results.map(\.status) == [.stored, .unknown, .dropped])
    }

    /// An envelope waits for a blob at another relay, and the blob is stored there after the delivery found nothing to do. The
    /// envelope was left in the outbox without an error.
    @Test func aBlobThatIsStoredAtTheEndIsNotMissed() throws {
        let scratch = TemporaryDirectory()
        let directory = try StateDirectory(path: scratch.path)
        let relay = RelayURL(host: "127.0.0.1", port: 1)
        let elsewhere = RelayURL(host: "127.0.0.1", port: 2)
        let other = try Outbox(directory: directory, lockTimeout: 20)
        let blob = try #require(
            try other.append(
                [Outbox.Item(id: "blob", to: "bob", envelope: [], kind: .blob)],
                relay: elsewhere.text
            ).first)
        let delivery = try Delivery(
            outbox: Outbox(directory: directory, lockTimeout: 20), queue: relay.text,
            relay: relay, lockTimeout: 20, blobs: nil, progress: { _, _, _ in },
            waits: { relays in
                #expect(relays == [elsewhere.text])
                #expect(throws: Never.self) { try other.settle([(blob, "stored")]) }
                return false
            })
        delivery.submit([
            Outbox.Item(id: "a", to: "bob", envelope: Array("a".utf8), needs: "blob")
        ])
        delivery.finish()
        let ending = try delivery.run(on: RelayLink.makeGroup()) { _ in }
        // No relay is at the address, but the delivery tried to send the envelope.
        #expect(ending.left == 1)
        guard case .connectionRefused = ending.error else {
            Issue.record("\(ending)")
            return
        }
    }
}
