import Sotto
import SottoDatabase

/// Chains of message keys in the groups of another messenger. Their contents have the form of that messenger's code.
///
/// A chain has an id, which its messages name, and a source: its owner in a group. Two sources can have chains with one id.
extension StateTransaction {
    /// Returns the contents of the chains with an id.
    public func foreignChains(id: [UInt8]) throws(StateError) -> [[UInt8]] {
        try readForeignChains("WHERE chain = ? ORDER BY number DESC", store.mark(foreignChain: id))
    }

    /// Returns the content of the newest chain of a source, or `nil`.
    public func lastForeignChain(of source: [UInt8]) throws(StateError) -> [UInt8]? {
        try readForeignChains(
            "WHERE source = ? ORDER BY number DESC LIMIT 1", store.mark(foreignSource: source)
        ).first
    }

    /// Stores the content of a chain, in place of an earlier one. A source keeps its newest `limit` chains.
    public func keep(
        foreignChain content: [UInt8], id: [UInt8], of source: [UInt8], limit: Int
    ) throws(StateError) {
        let (source, chain) = (store.mark(foreignSource: source), store.mark(foreignChain: id))
        try connection.run(
            """
            INSERT INTO foreign_chain (source, chain, sealed) VALUES (?, ?, ?)
            ON CONFLICT (source, chain) DO UPDATE SET sealed = excluded.sealed
            """, source, chain,
            store.seal(content, .foreignChain(source: source, chain: chain)))
        try connection.run(
            """
            DELETE FROM foreign_chain WHERE source = ?1 AND number NOT IN (
                SELECT number FROM foreign_chain WHERE source = ?1 ORDER BY number DESC LIMIT ?2)
            """, source, limit)
    }

    private func readForeignChains(
        _ condition: String, _ mark: [UInt8]
    ) throws(StateError) -> [[UInt8]] {
        try connection.rows("SELECT source, chain, sealed FROM foreign_chain \(condition)", mark) {
            row throws(StateError) -> [UInt8]? in
            let (source, chain, sealed) = (row.bytes(0), row.bytes(1), row.bytes(2))
            return try store.readable(.foreignChain, source + chain) { () throws(StateError) in
                try store.unseal(sealed, .foreignChain(source: source, chain: chain))
            }
        }.compactMap(\.self)
    }
}

extension IdentityStore {
    fileprivate func mark(foreignChain id: [UInt8]) -> [UInt8] {
        keyedHash(Array("foreign chain ".utf8) + id, key: lookupKey)
    }

    fileprivate func mark(foreignSource source: [UInt8]) -> [UInt8] {
        keyedHash(Array("foreign source ".utf8) + source, key: lookupKey)
    }
}
