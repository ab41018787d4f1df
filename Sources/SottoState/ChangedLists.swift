import SottoDatabase

/// The lists that programs show beside the messages.
public enum StateList: String, Sendable, CaseIterable {
    case contacts, requests, groups, conversations

    /// Selects what changes with the list: the numbers of its rows, and the end of each encrypted row.
    fileprivate var rows: String {
        switch self {
        case .contacts: "SELECT number, 0, substr(sealed, -16) FROM contact"
        case .requests: "SELECT number, aside, x'' FROM request"
        case .groups: "SELECT number, 0, substr(sealed, -16) FROM group_log"
        // The messages tell the rest.
        case .conversations: "SELECT number, read, substr(sealed, -16) FROM conversation"
        }
    }
}

extension IdentityStore {
    /// Returns a value for each list. It is another one in this process after the list was changed; the messages of a conversation do
    /// not count.
    public func listValues() throws(StateError) -> [StateList: Int] {
        try use { connection throws(StateError) in
            var values: [StateList: Int] = [:]
            for list in StateList.allCases {
                var hasher = Hasher()
                for row in try connection.rows(
                    list.rows, read: { ($0.integer(0), $0.integer(1), $0.bytes(2)) })
                {
                    hasher.combine(row.0)
                    hasher.combine(row.1)
                    hasher.combine(row.2)
                }
                values[list] = hasher.finalize()
            }
            return values
        }
    }
}
