import Sotto
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// The stores that must behave the same.
enum StoreKind: String, Sendable, CaseIterable {
    case sqlite, postgres
    /// Two PostgreSQL databases behind a PL/Proxy database.
    case partitions

    /// The kinds that this machine has, or must have. ``StoreKindTests`` show which are left out.
    static let available = allCases.filter { kind in
        switch kind {
        case .sqlite: true
        case .postgres: Peer.areRequired || PostgresCluster.programs != nil
        case .partitions: Peer.areRequired || PostgresCluster.hasProxy
        }
    }
}

/// The tests of every store leave out the stores that are not installed. Then these are skipped too.
struct StoreKindTests {
    @Test(.needs(.postgres)) func postgresIsTested() {
        #expect(StoreKind.available.contains(.postgres))
    }

    @Test(.needs(.postgres, .plproxy)) func partitionsAreTested() {
        #expect(StoreKind.available.contains(.partitions))
    }
}

extension Store {
    /// Deletes expired rows.
    func sweep(at minute: Int64) throws(StoreError) -> Bool {
        try sweep(at: minute, latest: minute, strangers: true)
    }

    func sweep(at minute: Int64, latest: Int64, strangers: Bool) throws(StoreError) -> Bool {
        try sweep(at: minute, second: minute * 60, latest: latest, strangers: strangers)
    }

    func messages(in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64)
        throws(StoreError) -> Page
    {
        try messages(
            in: mailbox, after: after, limit: limit, dead: dead, at: minute, second: minute * 60)
    }
}

/// The stores of a test: a file and a database, created at their first use.
final class StoreFixture: Sendable {
    let scratch = TemporaryDirectory()
    private let database = Mutex<String?>(nil)

    /// Returns the value of `--store`.
    func location(_ kind: StoreKind) throws -> String {
        guard kind != .sqlite else { return scratch("relay.db") }
        let cluster = try #require(PostgresCluster.shared)
        return cluster.url(
            database.withLock { database in
                let name =
                    database
                    ?? (kind == .postgres ? cluster.database() : cluster.partitions().proxy)
                database = name
                return name
            })
    }

    func open(_ kind: StoreKind, _ retention: Retention = Retention()) throws -> any Store {
        try StoreLocation(location(kind)).open(retention)
    }
}
