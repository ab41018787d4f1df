import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// A primary server that is killed while relays write to it, and its synchronous standby.
@Suite(.needs(.postgres), .timeLimit(.minutes(60))) struct FailoverTests {
    @Test func aPromotedStandbyHasAllAcknowledgedMail() throws {
        let primary = try #require(PostgresCluster())
        let standby = try #require(PostgresCluster(from: primary))
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.sql("SELECT pg_reload_conf()")
        while primary.sql("SELECT sync_state FROM pg_stat_replication") != ["sync"] {}
        let url = "postgresql:///postgres?host=\(primary.path),\(standby.path)&user=postgres"

        let mailboxes = (0..<20).map { _ in Sample.identity().id }
        let acknowledged = Mutex<[KeyID: Set<String>]>([:])
        let batches = DispatchSemaphore(value: 0)
        let isDone = Atomic(false)
        let relays = DispatchGroup()
        for number in 0..<3 {
            let store = try PostgresStore(url: url, retention: Retention())
            DispatchQueue(label: "writer").async(group: relays) {
                var generator = SeededGenerator(state: UInt64(number))
                while !isDone.load(ordering: .relaxed) {
                    let envelopes = (0..<20).map { _ in
                        Sample.envelope(to: mailboxes.randomElement(using: &generator)!)
                    }
                    guard let outcomes = try? store.commit(envelopes.map { .store($0) }, at: 1)
                    else {
                        Issue.record("the store failed")
                        batches.signal()
                        return
                    }
                    acknowledged.withLock { acknowledged in
                        for (envelope, outcome) in zip(envelopes, outcomes) {
                            #expect(outcome == .stored || outcome == .duplicate)
                            acknowledged[envelope.to, default: []].insert(envelope.id)
                        }
                    }
                    batches.signal()
                }
            }
        }
        for _ in 0..<100 { batches.wait() }
        #expect(kill(primary.process, SIGKILL) == 0)
        #expect(standby.run("pg_ctl", ["-D", standby.path + "/data", "-w", "promote"]) == 0)
        // Commits that were running when the primary was killed are among the first of these.
        while batches.wait(timeout: .now()) == .success {}
        for _ in 0..<100 { batches.wait() }
        isDone.store(true, ordering: .relaxed)
        relays.wait()

        let store = try PostgresStore(url: standby.url("postgres"), retention: Retention())
        for (mailbox, ids) in acknowledged.withLock({ $0 }) {
            var found: [String] = []
            var last: Int64 = 0
            while true {
                let page = try store.messages(
                    in: mailbox, after: last, limit: 100, dead: false, at: 1)
                found += page.messages.map(\.id)
                last = page.messages.last?.delivered.sequence ?? last
                if !page.hasMore { break }
            }
            #expect(Set(found).count == found.count)
            #expect(ids.isSubset(of: found))
        }
    }

    /// If a commit that waits for its standby is cancelled, the server reports success with a warning. It is not
    /// durable: the relay must not answer until a standby has it, or the operator removes the standby.
    @Test func aCommitWithoutItsStandbyIsNotAnswered() throws {
        let cluster = try #require(PostgresCluster())
        let bob = Sample.identity().id
        let store = try PostgresStore(url: cluster.url("postgres"), retention: Retention())
        cluster.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        // The server's processes take a new setting one after the other.
        while cluster.sql(
            "SELECT pg_reload_conf(); SELECT current_setting('synchronous_standby_names')"
        ).last != "nobody" {}
        try store.close()
        let envelope = Sample.envelope(to: bob)
        let outcomes = Mutex<[Outcome]?>(nil)
        let relay = DispatchGroup()
        DispatchQueue(label: "writer").async(group: relay) {
            let came = try? store.commit([.store(envelope)], at: 1)
            outcomes.withLock { $0 = came ?? [] }
        }
        // The first try stores it, and every further try finds it stored.
        var processes: Set<String> = []
        while processes.count < 3 {
            let waiting = cluster.sql(
                "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            for process in waiting where processes.insert(process).inserted {
                #expect(outcomes.withLock { $0 } == nil)
                cluster.sql("SELECT pg_cancel_backend(\(process))")
            }
        }
        #expect(outcomes.withLock { $0 } == nil)
        cluster.sql("ALTER SYSTEM RESET synchronous_standby_names")
        cluster.sql("SELECT pg_reload_conf()")
        relay.wait()
        #expect(outcomes.withLock { $0 } == [.duplicate])
    }
}
