/// The rights of a member of a group. A higher rank has all rights of a lower one.
package enum GroupRank: Int, Sendable, Comparable, CaseIterable {
    /// Is not a member.
    case nobody
    /// Reads.
    case reader
    case member
    case moderator
    case admin
    case owner

    /// The name in records.
    package var name: String {
        switch self {
        case .nobody: "nobody"
        case .reader: "reader"
        case .member: "member"
        case .moderator: "moderator"
        case .admin: "admin"
        case .owner: "owner"
        }
    }

    /// Returns the rank with a name, or `nil`.
    package init?(name: String) {
        guard let rank = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = rank
    }

    package static func < (a: GroupRank, b: GroupRank) -> Bool { a.rawValue < b.rawValue }
}
