import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The rate of large commits compared to single inserts, on the same server. Runs if `SOTTO_BENCH` is set.
@Suite(.enabled(if: environment("SOTTO_BENCH") != nil), .needs(.postgres), .serialized)
struct RateTests {
    @Test func envelopesInASecond() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let store = try PostgresStore(url: cluster.url(database), retention: Retention())
        let mailboxes = (0..<200).map { _ in Sample.identity().id }
        let text = String(repeating: "A", count: 800)
        let batches = (0..<50).map { _ in
            (0..<1_000).map { place in
                Sample.envelope(to: mailboxes[place % mailboxes.count], text: text)
            }
        }
        let size = batches[0][0].bytes.count
        let start = Monotonic.seconds()
        for batch in batches {
            #expect(try store.commit(batch.map { .store($0) }, at: 1).allSatisfy { $0 == .stored })
        }
        let rate = 50_000 / (Monotonic.seconds() - start)
        print("commits of 1,000 envelopes of \(size) bytes: \(Int(rate)) envelopes/s")
        let again = Monotonic.seconds()
        for batch in batches {
            let changes = batch.map { Change.acknowledge($0.to, ids: [$0.id], .delivered) }
            _ = try store.commit(changes, at: 1)
        }
        print("their acknowledgements: \(Int(50_000 / (Monotonic.seconds() - again)))/s")

        cluster.sql(
            """
            CREATE TABLE single (mailbox bigint, seq bigserial, id bytea PRIMARY KEY, body bytea);
            CREATE INDEX ON single (mailbox, seq);
            """, in: database)
        let scratch = TemporaryDirectory()
        let script = scratch.write(
            "insert.sql",
            Array(
                """
                INSERT INTO single (mailbox, id, body) VALUES (1 + (random() * 199)::int, \
                uuid_send(gen_random_uuid()), convert_to(repeat('x', \(size)), 'UTF8'));
                """.utf8))
        // A number of transactions, not a time: pgbench's alarm may be blocked in a child of a test.
        for clients in [1, 16] {
            let status = ChildProcess.run(
                "/bin/sh",
                [
                    "-c",
                    "exec \(PostgresCluster.programs ?? "")/pgbench -n -h \(cluster.path) -U postgres -f \(script) -c \(clients) -j \(min(2, clients)) -t \(4_000 / clients) \(database)",
                ], output: scratch("pgbench\(clients)"))
            #expect(status == 0)
            let line = scratch.lines("pgbench\(clients)").first { $0.hasPrefix("tps") }
            print("pgbench, one row a transaction, \(clients) clients: \(line ?? "")")
        }
    }
}
