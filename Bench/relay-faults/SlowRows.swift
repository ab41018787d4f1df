import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestHarness

extension Row {
    /// A client must not keep a connection by sending a byte from time to time.
    static let slowSenders = Row(
        name: "slow-senders",
        fault: "senders of a byte a second", goal: "dropped at 10 s, within a second"
    ) { scale in
        let count = scale.pick(small: 50, full: 5_000)
        guard let subject = RelayUnderTest() else { return .broken("no relay") }
        let clients = ClientSet(count, of: subject.address)
        let line = Request.send(Sample.envelope(to: Sample.identity().id)).line(requestID: "0")
        var began = [Double](repeating: 0, count: count)
        var written = [Int](repeating: 0, count: count)
        var lifetimes: [Double] = []
        clients.onEvent = { index, event in
            switch event {
            case .opened: began[index] = Monotonic.seconds()
            case .frame: lifetimes.append(.infinity)
            case .ended: lifetimes.append(Monotonic.seconds() - began[index])
            }
        }
        var next = Monotonic.seconds()
        clients.onTick = { now in
            guard now >= next else { return }
            next = now + 0.1
            for index in 0..<count where began[index] > 0 {
                guard now - began[index] >= Double(written[index]) else { continue }
                clients.send(index, [line[written[index]]])
                written[index] += 1
            }
        }
        for index in 0..<count { clients.connect(index) }
        let areAll = clients.run(for: 30) { lifetimes.count == count }
        subject.relay.end()
        guard areAll, let first = lifetimes.min(), let last = lifetimes.max() else {
            return .broken("\(count - lifetimes.count) not dropped in 30 s", after: count)
        }
        return Outcome(
            count, "dropped after \(text(first)) to \(text(last)) s",
            isGood: true, isWithin: first >= 9.5 && last <= 11)
    }

    /// Some consumers read nothing.
    static let consumersThatDoNotRead = Row(
        name: "deaf-consumers",
        fault: "a tenth of the consumers reads nothing",
        goal: "the others' p99 at most 1.5×, at most 1 MiB each, cut at 60 s"
    ) { scale in
        let count = scale.pick(small: 50, full: 1_000)
        let deaf = count / 10
        guard let subject = RelayUnderTest(options: ["--monitor", "127.0.0.1:0"]) else {
            return .broken("no relay")
        }
        let audience = Audience(count, of: subject)
        let window = scale.pick(small: 2.0, full: 6.0)
        let rate = scale.pick(small: 200.0, full: 500.0)
        func median() -> Double {
            (0..<3).map { _ in audience.p99(of: deaf..<count, rate: rate, seconds: window) }
                .sorted()[1]
        }
        // Their mail is stored before the measurement, because storing it is not their cost. The system uses some
        // megabytes for a connection that is not read.
        guard audience.subscribe(deaf..<count), audience.fill(0..<deaf, 100) else {
            return .broken("no subscriptions or no mail")
        }
        let before = median()
        let memory = subject.memory
        guard audience.subscribe(0..<deaf, isDeaf: true) else { return .broken("no session") }
        let start = Monotonic.seconds()
        let after = median()
        let each = (subject.memory - memory) / deaf
        var figures =
            "p99 \(text(before * 1000)) → \(text(after * 1000)) ms "
            + "(\(text(after / before, digits: 2))×), \(each >> 10) KiB each"
        var (isGood, isWithin) = (true, after <= before * 1.5 && each <= 1 << 20)
        if scale == .full {
            // It takes some seconds until the system's buffers are full and the relay notices.
            let areCut = audience.run(for: 90) { audience.connections == count - deaf }
            let seconds = Monotonic.seconds() - start
            figures += areCut ? ", cut at \(text(seconds)) s" : ", not cut in \(text(seconds)) s"
            isGood = areCut
            isWithin = isWithin && (59...70).contains(seconds)
        }
        subject.relay.end()
        return Outcome(deaf, figures, isGood: isGood, isWithin: isWithin)
    }
}

/// Subscribers of a relay that acknowledge their mail, and a sender.
private final class Audience {
    private let subject: RelayUnderTest
    private let clients: ClientSet
    private let consumers: Consumers
    private var subscribed: Set<Int> = []
    private var deaf: Set<Int> = []
    private var waiting: [String: Double] = [:]
    private var latencies: [Double] = []

    /// Creates `count` subscribers, not connected yet, and a connected sender.
    init(_ count: Int, of subject: RelayUnderTest) {
        self.subject = subject
        consumers = Consumers(count)
        clients = ClientSet(count + 1, of: subject.address)
        clients.onEvent = { [unowned self] index, event in
            guard index < count else { return }
            if consumers.advance(index, event, in: clients) { subscribed.insert(index) }
            if subscribed.contains(index), deaf.contains(index) {
                return clients.stopReading(index)
            }
            if case .frame(let frame) = event { take(index, frame) }
        }
        clients.connect(count)
    }

    /// Connects subscribers; with `isDeaf` they stop reading once they have subscribed.
    func subscribe(_ range: Range<Int>, isDeaf: Bool = false) -> Bool {
        if isDeaf { deaf.formUnion(range) }
        for index in range { clients.connect(index, window: isDeaf ? 4_096 : nil) }
        return clients.run(for: 60) { self.subscribed.isSuperset(of: range) }
    }

    private func take(_ index: Int, _ frame: Frame) {
        guard case .newMessage(let delivered) = Response(frame) else { return }
        let id = Sample.id(String(decoding: delivered.envelope, as: UTF8.self))
        if let start = waiting.removeValue(forKey: id) {
            latencies.append(Monotonic.seconds() - start)
        }
        clients.send(index, .ack(ids: [id], .delivered))
    }

    /// Sends `number` envelopes of 62 KB to each of these mailboxes.
    func fill(_ range: Range<Int>, _ number: Int) -> Bool {
        let padding = String(repeating: "A", count: 62_000)
        // Pending writes of the system would slow down the next measurement.
        defer { sync() }
        return range.allSatisfy { index in
            store(
                (0..<number).map { _ in
                    Sample.envelope(to: consumers.mailbox(index), text: padding)
                }, on: subject.address)
        }
    }

    /// Serves all connections without sending.
    func run(for seconds: Double, until isDone: () -> Bool) -> Bool {
        clients.onTick = { _ in }
        return clients.run(for: seconds, until: isDone)
    }

    /// Sends 1 KB at a fixed rate to all mailboxes in turn. Returns the 99th percentile, in seconds, of the times from
    /// when mail was due until these subscribers had it.
    func p99(of range: Range<Int>, rate: Double, seconds: Double) -> Double {
        let padding = String(repeating: "A", count: 720)
        latencies = []
        waiting = [:]
        let start = Monotonic.seconds()
        var sent = 0
        let members = range.upperBound
        clients.onTick = { [self] now in
            while Double(sent) < min(now - start, seconds) * rate {
                let index = sent * 7 % members
                let envelope = Sample.envelope(to: consumers.mailbox(index), text: padding)
                if range.contains(index) { waiting[envelope.id] = start + Double(sent) / rate }
                clients.send(members, .send(envelope))
                sent += 1
            }
        }
        clients.run(for: seconds)
        clients.run(for: 10) { self.waiting.isEmpty }
        // Mail that never arrived counts as the slowest.
        let sorted = (latencies + waiting.map { _ in .infinity }).sorted()
        return sorted[sorted.count * 99 / 100]
    }

    private var looked = 0.0
    private var seen = 0

    /// The number of connections that the relay reports, without the sender's; asked ten times a second.
    var connections: Int {
        if Monotonic.seconds() - looked > 0.1 {
            looked = Monotonic.seconds()
            seen = (subject.metric("connections_open") ?? 0) - 1
        }
        return seen
    }
}
