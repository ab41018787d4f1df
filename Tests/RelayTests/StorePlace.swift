import RelayHarness
import Sotto
import SottoState
import SottoWire
import Synchronization
import Testing

@testable import SottoServer

/// The stores that one test suite holds to one behaviour.
enum StoreKind: String, Sendable, CaseIterable {
    case sqlite, postgres
    /// Two PostgreSQL databases behind one of PL/Proxy's.
    case partitions

    /// Those that there are on this machine, or must be.
    static let available = allCases.filter { kind in
        switch kind {
        case .sqlite: true
        case .postgres: PostgresCluster.isExpected
        case .partitions: PostgresCluster.expectsProxy
        }
    }
}

extension Store {
    /// Lets go of all that is too old.
    func sweep(at minute: Int64) throws(StateError) -> Bool {
        try sweep(at: minute, latest: minute, strangers: true)
    }
}

/// Where a test has its store: a file and a database, made when they are first asked for.
final class StorePlace: Sendable {
    let scratch = Scratch()
    private let database = Mutex<String?>(nil)

    /// What `--store` names it.
    func location(_ kind: StoreKind) throws -> String {
        guard kind != .sqlite else { return scratch.file("relay.db") }
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
