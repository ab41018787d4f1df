import Dispatch
import NIOCore
import Sotto
import SottoWire
import Synchronization

/// Passes envelopes with a time to live of 0 to the subscribers of their mailboxes, in memory only.
///
/// It works on its own queue, after the sender has its answer, so that neither the answer nor its time depends on the
/// presence of a subscriber. An envelope without a subscriber here is passed to the other relays of the store. It is
/// dropped if no relay has a subscriber, if the subscriber does not read what is sent to it, or if too many wait here.
final class Signals: Sendable {
    /// The most bytes of envelopes that wait.
    private static let waitingLimit = 8 << 20

    private let subscribers: SubscriberRegistry
    private let store: any Store
    private let queue = DispatchQueue(label: "relay.signals")
    private let waitingBytes = Atomic(0)

    init(_ subscribers: SubscriberRegistry, _ store: any Store) {
        self.subscribers = subscribers
        self.store = store
    }

    /// Passes envelopes on, or drops them.
    func pass(_ envelopes: [SottoWire.AddressedEnvelope]) { add(envelopes, isFromHere: true) }

    /// Pushes an envelope that another relay of the store has passed on, or drops it.
    func receive(_ bytes: [UInt8]) {
        guard let record = try? JSON.object(parsing: bytes),
            let envelope = try? SottoWire.AddressedEnvelope(record), envelope.ttl == 0
        else { return }
        add([envelope], isFromHere: false)
    }

    private func add(_ envelopes: [SottoWire.AddressedEnvelope], isFromHere: Bool) {
        let bytes = Self.bytes(envelopes)
        let waiting = waitingBytes.add(bytes, ordering: .relaxed).newValue
        guard waiting <= Self.waitingLimit else {
            waitingBytes.subtract(bytes, ordering: .relaxed)
            return
        }
        queue.async { self.deliver(envelopes, bytes, isFromHere: isFromHere) }
    }

    private func deliver(_ envelopes: [SottoWire.AddressedEnvelope], _ bytes: Int, isFromHere: Bool)
    {
        var rest = bytes
        var others: [SottoWire.AddressedEnvelope] = []
        var groups: [ObjectIdentifier: (ClientConnection, [SottoWire.AddressedEnvelope])] = [:]
        for (envelope, subscriber) in zip(envelopes, subscribers.find(envelopes.map(\.to))) {
            guard let subscriber else {
                others.append(envelope)
                continue
            }
            groups[ObjectIdentifier(subscriber), default: (subscriber, [])].1.append(envelope)
        }
        for (subscriber, envelopes) in groups.values {
            let bytes = Self.bytes(envelopes)
            rest -= bytes
            subscriber.loop.execute {
                subscriber.push(envelopes)
                self.waitingBytes.subtract(bytes, ordering: .relaxed)
            }
        }
        if isFromHere, !others.isEmpty { store.pass(others) }
        waitingBytes.subtract(rest, ordering: .relaxed)
    }

    private static func bytes(_ envelopes: [SottoWire.AddressedEnvelope]) -> Int {
        envelopes.reduce(0) { $0 + $1.bytes.count }
    }
}
