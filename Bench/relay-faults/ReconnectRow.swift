import Sotto
import SottoDatabase
import SottoWire
import TestHarness

/// Sends envelopes without waiting for each reply. Returns whether all were stored.
func store(_ envelopes: [AddressedEnvelope], on address: String) -> Bool {
    guard let client = RawClient(reaching: address) else { return false }
    for start in stride(from: 0, to: envelopes.count, by: 200) {
        let some = envelopes[start..<min(start + 200, envelopes.count)]
        client.send(some.flatMap { Request.send($0).line(requestID: "0") })
        for _ in some {
            guard client.response() == .stored else { return false }
        }
    }
    return true
}

extension Row {
    /// All clients reconnect at once, to mail that they have not acknowledged.
    static let reconnection = Row(
        name: "reconnection",
        fault: "clients reconnect at once after a kill -9", goal: "drained in 60 s"
    ) { scale in
        let count = scale.pick(small: 200, full: 5_000)
        let mails = 4
        guard var subject = RelayUnderTest() else { return .broken("no relay") }
        let consumers = Consumers(count)
        let clients = ClientSet(count, of: subject.address)
        var subscribed = 0
        clients.onEvent = { index, event in
            if consumers.advance(index, event, in: clients) { subscribed += 1 }
        }
        for index in 0..<count { clients.connect(index) }
        guard clients.run(for: 60, until: { subscribed == count }) else {
            return .broken("only \(subscribed) connected")
        }
        let all = (0..<mails).flatMap { _ in
            (0..<count).map { Sample.envelope(to: consumers.mailbox($0)) }
        }
        guard store(all, on: subject.address) else { return .broken("not stored") }
        subject.kill()
        guard clients.run(for: 30, until: { clients.count == 0 }), subject.restart() else {
            return .broken("no start")
        }
        var left = [Set<String>](repeating: [], count: count)
        for (number, envelope) in all.enumerated() { left[number % count].insert(envelope.id) }
        var undrained = count
        clients.onEvent = { index, event in
            _ = consumers.advance(index, event, in: clients)
            switch event {
            case .ended: clients.connect(index)
            case .frame(let frame):
                switch Response(frame) {
                case .newMessage(let delivered):
                    let id = Sample.id(String(decoding: delivered.envelope, as: UTF8.self))
                    clients.send(index, .ack(ids: [id], .delivered), id)
                case .acked:
                    guard let id = frame.requestID, left[index].remove(id) != nil,
                        left[index].isEmpty
                    else { return }
                    undrained -= 1
                default: break
                }
            default: break
            }
        }
        let start = Monotonic.seconds()
        for index in 0..<count { clients.connect(index) }
        let isDrained = clients.run(for: 120) { undrained == 0 }
        let seconds = Monotonic.seconds() - start
        subject.relay.end()
        return Outcome(
            count,
            isDrained
                ? "\(all.count) envelopes drained in \(text(seconds)) s"
                : "\(undrained) not drained in \(text(seconds)) s",
            isGood: isDrained, isWithin: seconds <= 60)
    }
}
