import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestHarness

/// A store whose files can be reset to the contents that are certainly on disk.
private struct SimulatedDisk {
    let store = TemporaryDirectory()
    let shim: Shim
    /// The synchronized contents, as the shim records them.
    private let shadow = TemporaryDirectory()

    var environment: [String: String] { shim.environment(["FAULT_SHADOW": shadow.path]) }

    /// The written data that survives without having been synchronized.
    enum Rest {
        /// No unsynchronized data.
        case nothing
        /// Any of the unsynchronized pages: a disk writes in any order.
        case somePages
    }

    /// Simulates a power cut; the relay must have ended.
    func cut(_ rest: Rest, _ generator: inout some RandomNumberGenerator) {
        for name in ["relay.db", "relay.db-wal"] {
            var safe = TemporaryDirectory.contents(shadow(name))
            let written = TemporaryDirectory.contents(store(name))
            if case .somePages = rest {
                let page = 4_096
                if written.count > safe.count || Bool.random(using: &generator) {
                    let size = Int.random(
                        in: min(safe.count, written.count)...max(safe.count, written.count),
                        using: &generator)
                    safe = Array(safe.prefix(size))
                    safe += [UInt8](repeating: 0, count: size - safe.count)
                }
                for start in stride(from: 0, to: min(safe.count, written.count), by: page)
                where Bool.random(using: &generator) {
                    let end = min(start + page, safe.count, written.count)
                    safe[start..<end] = written[start..<end]
                }
            }
            shadow.write(name, safe)
            store.write(name, safe)
        }
        unlink(store("relay.db-shm"))
    }
}

extension Row {
    /// Only synchronized data survives.
    static let powerCut = Row(
        name: "power-cut",
        fault:
            "power cut: the store as it was last synchronised, or with any pages written after that",
        goal: "0 acknowledged lost, 0 twice"
    ) { scale in
        guard let shim = Shim.shared else { return .broken("the shim does not compile") }
        let cuts = scale.pick(small: 5, full: 200)
        let disk = SimulatedDisk(shim: shim)
        guard var subject = RelayUnderTest(disk.store, environment: disk.environment) else {
            return .broken("no relay")
        }
        let load = Load(on: subject.address, senders: 8)
        var generator = SystemRandomNumberGenerator()
        for cut in 0..<cuts {
            anyMoment(upTo: 300, &generator)
            subject.kill()
            disk.cut(cut % 2 == 0 ? .nothing : .somePages, &generator)
            guard subject.restart(environment: disk.environment) else {
                load.abandon()
                return .broken("no start", after: cut + 1)
            }
        }
        guard let counts = subject.settle(load) else { return .broken("no start", after: cuts) }
        subject.relay.end()
        // The same check must find the losses of a disk that reports success too early.
        guard let lost = lostToALiar(shim) else { return .broken("no relay on a disk that lies") }
        return Outcome(
            cuts,
            "\(counts.lost) of \(counts.acknowledged) lost, \(counts.twice) twice "
                + "(on a disk that lies: \(lost) lost)",
            isGood: counts.lost == 0 && counts.twice == 0 && counts.acknowledged > 0 && lost > 0)
    }

    /// Returns the number of envelopes that a power cut loses on a disk that does not synchronize.
    private static func lostToALiar(_ shim: Shim) -> Int? {
        let disk = SimulatedDisk(shim: shim)
        let liar = disk.environment.merging(["FAULT_LIE": "1"]) { $1 }
        guard var subject = RelayUnderTest(disk.store, environment: disk.environment),
            subject.relay.end() == 0, subject.restart(environment: liar)
        else { return nil }
        let load = Load(on: subject.address, senders: 1, consumes: false)
        var generator = SystemRandomNumberGenerator()
        while load.ledger.counts.acknowledged == 0 { usleep(1_000) }
        subject.kill()
        disk.cut(.nothing, &generator)
        guard subject.restart() else { return nil }
        defer { subject.relay.end() }
        return subject.settle(load)?.lost
    }

    /// A synchronization fails, and later ones would succeed without the failed data.
    static let failedSync = Row(
        name: "failed-sync",
        fault: "a synchronization fails with EIO",
        goal: "0 acknowledged after it, exit ≠ 0, a clean restart"
    ) { scale in
        guard let shim = Shim.shared else { return .broken("the shim does not compile") }
        let times = scale.pick(small: 4, full: 50)
        var (acknowledged, lost, clean, statuses) = (0, 0, 0, Set<Int32>())
        for time in 0..<times {
            let disk = SimulatedDisk(shim: shim)
            // The store is complete before the fault: a start that fails has acknowledged nothing.
            guard var subject = RelayUnderTest(disk.store, environment: disk.environment) else {
                return .broken("no relay")
            }
            subject.relay.end()
            // Alternately any synchronization, nearly always the log's, and one of the file itself.
            let fault =
                time % 2 == 0
                ? ["FAULT_SYNC_EIO": "\(Int.random(in: 5...200))"]
                : ["FAULT_SYNC_EIO": "\(Int.random(in: 1...2))", "FAULT_SYNC_NAME": "/relay.db"]
            let failing = disk.environment.merging(fault) { $1 }
            guard subject.restart(environment: failing) else { return .broken("no start") }
            let load = Load(on: subject.address, senders: 4)
            guard let status = subject.relay.command.wait(atMost: 60) else {
                subject.kill()
                load.abandon()
                return .broken("went on after \(fault)", after: time + 1)
            }
            statuses.insert(status)
            var generator = SystemRandomNumberGenerator()
            disk.cut(.nothing, &generator)
            if subject.restart(environment: disk.environment) { clean += 1 }
            guard let counts = subject.settle(load) else { return .broken("no start") }
            acknowledged += counts.acknowledged
            lost += counts.lost
            if subject.relay.end() != 0 { clean -= 1 }
        }
        let exits = statuses.sorted().map(String.init).joined(separator: ", ")
        return Outcome(
            times,
            "\(lost) of \(acknowledged) lost, exit \(exits), \(clean) clean restarts",
            isGood: lost == 0 && !statuses.contains { $0 <= 0 } && clean == times
                && acknowledged > 0)
    }

    /// The file system is full, and only deletions free space.
    static let fullDisk = Row(
        name: "full-disk",
        fault: "disk full", goal: "deferred, acks work, recovers without a restart"
    ) { scale in
        let times = scale.pick(small: 2, full: 20)
        guard SmallDisk.canBeMounted, let disk = SmallDisk() else {
            return .skipped("a small disk cannot be mounted here")
        }
        guard let subject = RelayUnderTest(disk.scratch) else { return .broken("no relay") }
        let bob = Sample.identity()
        let client = RawClient(subject.address)
        guard client.login(bob)?.isSession == true else { return .broken("no session") }
        let padding = String(repeating: "A", count: 4_000)
        var (stored, removed, deferrals) = (0, 0, 0)
        for _ in 0..<times {
            var ids: [String] = []
            fill: while true {
                let envelope = Sample.envelope(to: bob.id, text: padding)
                switch client.ask(.send(envelope)) {
                case .stored: ids.append(envelope.id)
                case .deferred(let refusal) where refusal == Refusal(.diskFull): break fill
                case let other: return .broken("\(other as Any)", after: deferrals)
                }
            }
            deferrals += 1
            stored += ids.count
            for id in ids where client.ask(.ack(ids: [id], .delivered)) == .acked { removed += 1 }
        }
        let after = client.ask(.send(Sample.envelope(to: bob.id)))
        let status = subject.relay.end()
        return Outcome(
            deferrals,
            "deferred each time; \(removed) of \(stored) deleted; then "
                + (after == .stored ? "stored" : "not stored") + "; exit \(status)",
            isGood: removed == stored && stored > deferrals && after == .stored && status == 0)
    }

    /// Each synchronization takes longer.
    static let slowDisk = Row(
        name: "slow-sync",
        fault: "1, 5, 50 ms more for each synchronization",
        goal: "at +1 ms, 64 × 16 keeps 80 % of the rate"
    ) { scale in
        guard let shim = Shim.shared else { return .broken("the shim does not compile") }
        // In turns, with the best rate of each delay: other processes only ever slow it down.
        let delays = scale.pick(small: [0, 1, 5, 50], full: [0, 1, 0, 1, 0, 1, 5, 50])
        var best: [Int: Double] = [:]
        for delay in delays {
            let seconds = scale.pick(small: 1, full: 5)
            guard let rate = rate(shim, delay: delay, seconds: seconds), rate > 0 else {
                return .broken("no rate at +\(delay) ms")
            }
            best[delay] = max(best[delay] ?? 0, rate)
        }
        guard let undelayed = best[0], let first = best[1] else { return .broken("no rate") }
        let figures = best.sorted { $0.key < $1.key }.map { delay, rate in
            "+\(delay) ms \(Int(rate))/s (\(Int(rate / undelayed * 100)) %)"
        }
        return Outcome(
            delays.count, figures.joined(separator: ", "), isGood: true,
            isWithin: first >= undelayed * 0.8)
    }

    /// Returns the rate at which a relay stores envelopes at 64 × 16, with each synchronization `delay` ms longer.
    private static func rate(_ shim: Shim, delay: Int, seconds: Int) -> Double? {
        let environment = shim.environment(["FAULT_SYNC_DELAY": "\(delay * 1000)"])
        guard let subject = RelayUnderTest(environment: environment) else { return nil }
        defer { subject.relay.end() }
        let output = TemporaryDirectory()
        let load = ["closed", "tcp://\(subject.address)", "64", "16", "\(seconds)"]
        guard ChildProcess.run("relay-load", load, output: output("figures")) == 0 else {
            return nil
        }
        return output.lines("figures").first?.split(separator: "\t").first.flatMap { Double($0) }
    }
}
