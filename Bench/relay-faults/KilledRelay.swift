import Glibc
import TestHarness

extension Row {
    /// `kill -9` of the relay at random moments, while it stores and delivers.
    static let relayKilled = Row(
        name: "kill-relay",
        fault: "kill -9 of the relay under load",
        goal: "0 acknowledged lost, 0 twice, ready in 2 s"
    ) { scale in
        let kills = scale.pick(small: 10, full: 1_000)
        guard var subject = RelayUnderTest() else { return .broken("no relay") }
        let load = Load(on: subject.address, senders: 8)
        var generator = SystemRandomNumberGenerator()
        for kill in 0..<kills {
            anyMoment(upTo: 150, &generator)
            subject.kill()
            guard subject.restart() else {
                load.abandon()
                return .broken("no start", after: kill + 1)
            }
        }
        guard let counts = subject.settle(load) else { return .broken("no start", after: kills) }
        subject.relay.end()
        return Outcome(
            kills,
            "\(counts.lost) of \(counts.acknowledged) lost, \(counts.twice) twice, "
                + "ready in \(text(subject.slowestStart, digits: 2)) s",
            isGood: counts.lost == 0 && counts.twice == 0 && counts.acknowledged > 0,
            isWithin: subject.slowestStart <= 2)
    }
}
