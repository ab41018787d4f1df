import Glibc
import SottoDatabase
import TestHarness

extension Row {
    /// The PostgreSQL primary is killed, and its synchronous standby takes over.
    static let primaryKilled = Row(
        name: "kill-primary",
        fault: "kill -9 of the PostgreSQL primary under load",
        goal: "0 acknowledged lost, 0 twice, a pause of at most 30 s"
    ) { scale in
        guard PostgresCluster.programs != nil else {
            return .skipped("PostgreSQL is not installed")
        }
        let kills = scale.pick(small: 1, full: 50)
        var (acknowledged, lost, twice, pause) = (0, 0, 0, 0.0)
        for kill in 0..<kills {
            guard let failover = Failover() else { return .broken("no cluster", after: kill) }
            acknowledged += failover.counts.acknowledged
            lost += failover.counts.lost
            twice += failover.counts.twice
            pause = max(pause, failover.pause)
        }
        return Outcome(
            kills,
            "\(lost) of \(acknowledged) lost, \(twice) twice, a pause of \(text(pause)) s",
            isGood: lost == 0 && twice == 0 && acknowledged > 0,
            isWithin: pause <= 30)
    }
}

/// One primary that is killed, and its standby.
private struct Failover {
    let counts: (acknowledged: Int, lost: Int, twice: Int)
    /// Seconds from the kill to the first `stored` after the promotion.
    let pause: Double

    /// Kills the primary at a random moment; returns `nil` if the servers or the relay do not start.
    init?() {
        guard let primary = PostgresCluster(), let standby = PostgresCluster(from: primary) else {
            return nil
        }
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.sql("SELECT pg_reload_conf()")
        while primary.sql("SELECT sync_state FROM pg_stat_replication") != ["sync"] {}
        let url = "postgresql:///postgres?host=\(primary.path),\(standby.path)&user=postgres"
        guard var subject = RelayUnderTest(store: url) else { return nil }
        let load = Load(on: subject.address, senders: 8)
        while load.ledger.counts.acknowledged < 100 { usleep(1_000) }
        var generator = SystemRandomNumberGenerator()
        anyMoment(upTo: 500, &generator)
        let start = Monotonic.seconds()
        kill(primary.process, SIGKILL)
        guard standby.run("pg_ctl", ["-D", standby.path + "/data", "-w", "promote"]) == 0 else {
            load.abandon()
            return nil
        }
        let before = load.ledger.counts.acknowledged
        while load.ledger.counts.acknowledged == before, Monotonic.seconds() - start < 60 {
            usleep(1_000)
        }
        pause = Monotonic.seconds() - start
        guard let counts = subject.settle(load) else { return nil }
        self.counts = counts
        subject.relay.end()
    }
}
