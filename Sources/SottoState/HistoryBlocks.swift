import Sotto
import SottoDatabase

/// Blocks of the history, read on several threads, each with its own connection.
final class HistoryBlocks: @unchecked Sendable {
    // Sendable: during ``forEach(_:_:)`` each call uses one connection and writes one result. The keys of the store are
    // read-only.
    /// The count of numbers in a block.
    static let size: Int64 = 8_192

    private let connections: [DurableDatabase]
    private let pool = ThreadPool()

    init(_ store: IdentityStore) throws(StateError) {
        var connections: [DurableDatabase] = []
        do throws(DatabaseError) {
            for _ in 0..<ThreadPool.size {
                connections.append(
                    try DurableDatabase(
                        path: store.database.path, kind: IdentityStore.fileKind,
                        version: IdentityStore.schemaVersion, lockTimeout: 10, erases: false))
            }
        } catch { throw .database(error) }
        self.connections = connections
    }

    /// The number of blocks that are read at once.
    var count: Int { connections.count }

    /// Calls `read` with the start of each block, at most ``count``, on the threads. Returns the results in this order.
    func forEach<Value: Sendable>(
        _ starts: [Int64],
        _ read: @escaping @Sendable (StateConnection, Int64) throws(StateError) -> Value
    ) throws(StateError) -> [Value] {
        var results = [Result<Value, StateError>?](repeating: nil, count: starts.count)
        results.withUnsafeMutableBufferPointer { results in
            nonisolated(unsafe) let results = results
            pool.forEach(results.count) { [self] index in
                do throws(StateError) {
                    let value = try connections[index].use {
                        (connection: StateConnection) throws(StateError) in
                        try read(connection, starts[index])
                    }
                    results[index] = .success(value)
                } catch { results[index] = .failure(error) }
            }
        }
        var values: [Value] = []
        for result in results {
            if let result { values.append(try result.get()) }
        }
        return values
    }
}
