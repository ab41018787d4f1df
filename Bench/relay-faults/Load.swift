import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization
import TestHarness

/// The envelopes that a relay acknowledged, and those that it delivered.
final class Ledger: Sendable {
    private struct State {
        var acknowledged: Set<String> = []
        var received: Set<String> = []
        var done: Set<String> = []
        var twice = 0
    }

    private let state = Mutex(State())

    /// Notes that a sender read `stored` or `duplicate`.
    func noteAcknowledged(_ id: String) { state.withLock { _ = $0.acknowledged.insert(id) } }

    /// Notes that a consumer got an envelope. After the relay has confirmed its deletion, or on the same connection,
    /// it must not come again.
    func noteReceived(_ id: String, isRepeat: Bool) {
        state.withLock { state in
            state.received.insert(id)
            if isRepeat || state.done.contains(id) { state.twice += 1 }
        }
    }

    /// Notes that the relay has confirmed the deletion of an envelope.
    func noteDone(_ id: String) { state.withLock { _ = $0.done.insert(id) } }

    /// The numbers of acknowledged envelopes, of those that were never delivered, and of repeated deliveries.
    var counts: (acknowledged: Int, lost: Int, twice: Int) {
        state.withLock {
            ($0.acknowledged.count, $0.acknowledged.subtracting($0.received).count, $0.twice)
        }
    }
}

/// Senders and consumers that continue when the relay fails, like `send` and `recv`: without an answer they
/// repeat a request under the same id.
final class Load: Sendable {
    let ledger = Ledger()
    private let address: String
    private let mailboxes: [Identity]
    private let inFlight: Int
    private let isSending = Atomic(true)
    private let isConsuming = Atomic(true)
    private let senders = DispatchGroup()
    private let consumers = DispatchGroup()
    private let padding = String(repeating: "A", count: 720)

    /// Starts `senders` senders, each with its own mailbox to send to, and with `consumes` a consumer for each.
    init(on address: String, senders: Int, inFlight: Int = 16, consumes: Bool = true) {
        self.address = address
        self.inFlight = inFlight
        mailboxes = (0..<senders).map { _ in Sample.identity() }
        for mailbox in mailboxes {
            DispatchQueue(label: "sender").async(group: self.senders) { self.send(to: mailbox.id) }
            guard consumes else { continue }
            DispatchQueue(label: "consumer").async(group: self.consumers) { self.consume(mailbox) }
        }
    }

    /// Stops sending once everything that was sent is answered.
    func finish() {
        isSending.store(false, ordering: .relaxed)
        senders.wait()
    }

    /// Stops at once: the relay is gone for good.
    func abandon() {
        isConsuming.store(false, ordering: .relaxed)
        finish()
        consumers.wait()
    }

    /// Stops the consumers and `relay`, and reads the remaining mail from the relay that `restart` starts.
    func drain(_ relay: RelayProcess, restart: () -> RelayProcess?) -> RelayProcess? {
        isConsuming.store(false, ordering: .relaxed)
        relay.end()
        consumers.wait()
        guard let next = restart() else { return nil }
        for mailbox in mailboxes { drain(mailbox, next.address) }
        return next
    }

    private func drain(_ mailbox: Identity, _ address: String) {
        let client = RawClient(address)
        guard client.login(mailbox)?.isSession == true else { return }
        var (after, seen): (Int64, Set<String>) = (0, [])
        while case .messages(let page, let more)? = client.ask(
            .fetch(max: WireLimits.fetchCount, after: after, dead: false))
        {
            for delivered in page {
                let id = Sample.id(String(decoding: delivered.envelope, as: UTF8.self))
                ledger.noteReceived(id, isRepeat: !seen.insert(id).inserted)
                after = delivered.sequence
            }
            if !more { return }
        }
    }

    private var hasGone: Bool { !isConsuming.load(ordering: .relaxed) }

    private func send(to mailbox: KeyID) {
        var waiting: [String: [UInt8]] = [:]
        while true {
            guard let client = RawClient(reaching: address) else {
                if hasGone { return }
                usleep(2_000)
                continue
            }
            client.send(Array(waiting.values.joined()))
            while true {
                var lines: [UInt8] = []
                while isSending.load(ordering: .relaxed), waiting.count < inFlight {
                    let envelope = Sample.envelope(to: mailbox, text: padding)
                    let line = Request.send(envelope).line(requestID: envelope.id)
                    waiting[envelope.id] = line
                    lines += line
                }
                if waiting.isEmpty { return }
                client.send(lines)
                guard let frame = client.frame(), let id = frame.requestID else { break }
                switch Response(frame) {
                case .stored, .duplicate: ledger.noteAcknowledged(id)
                // A deferral is the sender's to repeat; here it is not.
                default: break
                }
                waiting[id] = nil
            }
            if hasGone { return }
        }
    }

    private func consume(_ mailbox: Identity) {
        while !hasGone {
            guard let client = RawClient(reaching: address),
                client.login(mailbox)?.isSession == true
            else {
                usleep(2_000)
                continue
            }
            client.send(Request.subscribe().line(requestID: "subscribe"))
            var seen: Set<String> = []
            while let frame = client.frame() {
                switch Response(frame) {
                case .newMessage(let delivered):
                    let id = Sample.id(String(decoding: delivered.envelope, as: UTF8.self))
                    ledger.noteReceived(id, isRepeat: !seen.insert(id).inserted)
                    client.send(Request.ack(ids: [id], .delivered).line(requestID: id))
                case .acked: frame.requestID.map(ledger.noteDone)
                default: break
                }
            }
        }
    }
}
