import Sotto
import SottoState
import SottoWire
import Synchronization
import Testing

@testable import SottoServer

/// The stores that one test suite holds to one behaviour.
enum StoreKind: String, Sendable, CaseIterable {
    case sqlite, postgres

    /// Those that there are on this machine, or must be.
    static let available = allCases.filter { $0 == .sqlite || PostgresCluster.isExpected }
}

/// Where a test has its store: a file and a database, made when they are first asked for.
final class StorePlace: Sendable {
    let scratch = Scratch()
    private let database = Mutex<String?>(nil)

    /// What `--store` names it.
    func location(_ kind: StoreKind) throws -> String {
        guard kind == .postgres else { return scratch.file("relay.db") }
        let cluster = try #require(PostgresCluster.shared)
        return cluster.url(
            database.withLock { database in
                let name = database ?? cluster.database()
                database = name
                return name
            })
    }

    func open(_ kind: StoreKind, _ retention: Retention = Retention()) throws -> any Store {
        try StoreLocation(location(kind)).open(retention)
    }
}
