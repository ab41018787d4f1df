import Sotto
import SottoDatabase
import Synchronization

/// Rows of the state that cannot be read: they do not decrypt, or their content is refused. They are left out, and
/// the work on other rows continues.
public struct StateDamage: Sendable, Hashable {
    /// The kinds of rows.
    public enum Kind: Sendable, Hashable, CaseIterable {
        case contact, profile, news, conversation, message, reader, request
        case session, skippedKey, preKey, bundle
        case group, waitingChange, member, ownChain, chain, heldMessage, room, file, wake
        case chat, foreignChain
        case syncItem, syncValue, deviceList
    }

    /// The kind of the rows.
    public let kind: Kind
    /// The number of rows that were found since the last report.
    public let count: Int
    /// The file of the state.
    public let path: String
}

extension StateDamage.Kind {
    /// Whether the rows are deleted: they wait, or a program gets their content again.
    public var isDropped: Bool {
        switch self {
        case .waitingChange, .member, .chain, .heldMessage, .file, .bundle, .skippedKey, .syncItem:
            true
        case .contact, .profile, .news, .conversation, .message, .reader, .request, .session,
            .preKey,
            .group, .ownChain, .room, .chat, .foreignChain, .wake, .syncValue, .deviceList:
            false
        }
    }
}

/// Collects the rows that cannot be read. Each row is reported once.
final class DamageLog: Sendable {
    private struct Row: Hashable {
        let kind: StateDamage.Kind
        let key: [UInt8]
    }

    private struct Found {
        var rows: Set<Row> = []
        var new: [StateDamage.Kind: Int] = [:]
    }

    private let path: String
    private let report: @Sendable (StateDamage) -> Void
    private let found = Mutex(Found())

    init(path: String, _ report: @escaping @Sendable (StateDamage) -> Void) {
        (self.path, self.report) = (path, report)
    }

    func add(_ kind: StateDamage.Kind, _ key: [UInt8]) {
        found.withLock {
            if $0.rows.insert(Row(kind: kind, key: key)).inserted { $0.new[kind, default: 0] += 1 }
        }
    }

    func add(_ kind: StateDamage.Kind, _ number: Int64) {
        add(kind, UInt64(bitPattern: number).bigEndianBytes)
    }

    /// Reports the rows that were added since the last call.
    func flush() {
        let new = found.withLock { found in
            defer { found.new = [:] }
            return found.new
        }
        for kind in StateDamage.Kind.allCases {
            guard let count = new[kind] else { continue }
            report(StateDamage(kind: kind, count: count, path: path))
        }
    }
}

extension IdentityStore {
    /// Calls `body` with the connection, and reports rows that it could not read.
    func use<T>(
        _ body: (StateConnection) throws(StateError) -> T
    ) throws(StateError) -> T {
        defer { damage.flush() }
        return try database.use(body)
    }

    /// Returns the result of `read`. If the row with this key cannot be read, it is noted, and the result is `nil`.
    func readable<T>(
        _ kind: StateDamage.Kind, _ key: [UInt8], _ read: () throws(StateError) -> T
    ) throws(StateError) -> T? {
        do throws(StateError) {
            return try read()
        } catch .unsealable {
            damage.add(kind, key)
            return nil
        } catch {
            throw error
        }
    }

    /// Does the same for a row with a number.
    func readable<T>(
        _ kind: StateDamage.Kind, _ number: Int64, _ read: () throws(StateError) -> T
    ) throws(StateError) -> T? {
        try readable(kind, UInt64(bitPattern: number).bigEndianBytes, read)
    }
}

extension StateDamage: CustomStringConvertible {
    /// The lost rows, for a note.
    public var description: String {
        let (one, several) = kind.names
        return count == 1
            ? "\(one) in \(path) cannot be read and is \(kind.isDropped ? "deleted" : "left out")"
            : "\(count) \(several) in \(path) cannot be read and are \(kind.isDropped ? "deleted" : "left out")"
    }
}

extension StateDamage.Kind {
    /// One row, and several.
    fileprivate var names: (one: String, several: String) {
        switch self {
        case .contact: ("a contact", "contacts")
        case .profile: ("a profile", "profiles")
        case .news:
            ("a revocation or succession", "revocations or successions")
        case .conversation:
            ("the settings of a conversation", "conversations' settings")
        case .message: ("a message", "messages")
        case .reader: ("a reader of the history", "readers of the history")
        case .request: ("a message request", "message requests")
        case .session: ("a session", "sessions")
        case .skippedKey: ("the key of a late message", "keys of late messages")
        case .preKey: ("a prekey", "prekeys")
        case .bundle: ("a bundle of prekeys", "bundles of prekeys")
        case .group: ("a group", "groups")
        case .waitingChange:
            ("a waiting change of a group", "waiting changes of groups")
        case .member: ("the note about a member of a group", "notes about members of groups")
        case .ownChain: ("the own key chain of a group", "own key chains of groups")
        case .chain: ("the key chain of a member of a group", "key chains of members of groups")
        case .heldMessage:
            ("a waiting message of a group", "waiting messages of groups")
        case .room: ("the set of keys of a room", "sets of keys of rooms")
        case .file:
            ("the pointer to a file of a group", "pointers to files of groups")
        case .chat: ("the keys of a chat", "keys of chats")
        case .syncItem: ("a change for an own device", "changes for own devices")
        case .syncValue:
            ("a change that own devices agreed on", "changes that own devices agreed on")
        case .foreignChain:
            ("a key chain of another messenger's group", "key chains of other messengers' groups")
        case .deviceList: ("a list of devices", "lists of devices")
        case .wake: ("a registration for wake-ups", "registrations for wake-ups")
        }
    }
}
