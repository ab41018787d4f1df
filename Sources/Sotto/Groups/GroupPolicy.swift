/// The rules that a group sets for itself: `{"add","edit","post","pin","visibility","relays","door"?}`.
/// sotto-formats(5), GROUPS.
package struct GroupPolicy: Sendable, Hashable {
    /// The rule for reading the messages of other members.
    package enum Visibility: String, Sendable {
        /// Members read what is sent after they joined.
        case joined
        /// Members read earlier messages too.
        case global
        /// A member reads those who joined later, and those who granted it.
        case granted
    }

    /// The rank that invites.
    package var add: GroupRank
    /// The rank that sets name, description, picture and timer.
    package var edit: GroupRank
    /// The rank that posts messages.
    package var post: GroupRank
    /// The rank that pins messages and deletes those of others.
    package var pin: GroupRank
    package var visibility: Visibility
    /// The addresses of the relays that members use, at most ``mostRelays``.
    package var relays: [String]
    /// The Ed25519 public key that admits without an invitation, 32 bytes, or `nil`.
    package var door: [UInt8]?

    /// The most relays of a group.
    package static let mostRelays = 8
    /// The longest address of a relay, in bytes.
    private static let relayBytes = 300

    /// Creates a policy.
    package init(
        add: GroupRank = .admin, edit: GroupRank = .admin, post: GroupRank = .member,
        pin: GroupRank = .moderator, visibility: Visibility = .joined, relays: [String] = [],
        door: [UInt8]? = nil
    ) {
        (self.add, self.edit, self.post, self.pin) = (add, edit, post, pin)
        (self.visibility, self.relays, self.door) = (visibility, relays, door)
    }

    /// Reads the object. Throws ``GroupChangeError/member(_:)``.
    package init(_ object: JSONObject) throws(GroupChangeError) {
        let fields = Fields<GroupChangeError>(object)
        func rank(_ name: String) throws(GroupChangeError) -> GroupRank {
            try fields[name].text { GroupRank(name: $0) }
        }
        (add, edit) = (try rank("add"), try rank("edit"))
        (post, pin) = (try rank("post"), try rank("pin"))
        visibility = try fields["visibility"].text { Visibility(rawValue: $0) }
        relays = []
        for relay in try fields["relays"].array() {
            guard let text = relay.string, (1...Self.relayBytes).contains(text.utf8.count),
                !relays.contains(text)
            else { throw .member("relays") }
            relays.append(text)
        }
        guard relays.count <= Self.mostRelays else { throw .member("relays") }
        door = try fields["door"].optional?.hexBytes(count: 32)
        guard door.map(isEd25519Key) ?? true else { throw .member("door") }
    }

    /// The object.
    package var object: JSONObject {
        JSONObject([
            ("add", .string(add.name)), ("edit", .string(edit.name)), ("post", .string(post.name)),
            ("pin", .string(pin.name)), ("visibility", .string(visibility.rawValue)),
            ("relays", .array(relays.map { .string($0) })),
            ("door", door.map { .string(hex($0)) }),
        ])
    }

    /// The same rules for a group that was deleted for all: only owners could act, and no door admits.
    package var closed: GroupPolicy {
        var closed = self
        (closed.add, closed.edit, closed.post, closed.pin) = (.owner, .owner, .owner, .owner)
        closed.door = nil
        return closed
    }

    /// Whether only owners can act, and no door admits.
    package var isClosed: Bool { self == closed }

    /// Returns the relays to which mail of members goes: the owner's, and those of the policy.
    package func relays(and own: String?) -> ListedRelays {
        ListedRelays([own].compactMap(\.self) + relays)
    }

    /// The parts that authorise changes.
    var rules: GroupRules.Policy { GroupRules.Policy(add: add, edit: edit, door: door) }

    /// Returns the strictest of concurrent policies: the highest ranks, the narrowest visibility, the relays of all, and the
    /// door if it is the same.
    package static func strictest(_ policies: [GroupPolicy]) -> GroupPolicy? {
        guard var result = policies.first else { return nil }
        for policy in policies.dropFirst() {
            result.add = max(result.add, policy.add)
            result.edit = max(result.edit, policy.edit)
            result.post = max(result.post, policy.post)
            result.pin = max(result.pin, policy.pin)
            if policy.visibility.narrowness > result.visibility.narrowness {
                result.visibility = policy.visibility
            }
            result.relays.removeAll { !policy.relays.contains($0) }
            if policy.door != result.door { result.door = nil }
        }
        result.relays.sort { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        return result
    }
}

/// The relays to which mail of the members of a group may go. Otherwise a member could make all others connect to an
/// address.
package struct ListedRelays: Sendable {
    private let relays: [String]

    /// Creates the list; the first of several addresses of one relay counts.
    package init(_ relays: [String]) { self.relays = relays }

    /// Returns the address for mail to the relay on a member's card, or `nil` if the list does not have the relay. A pin in the
    /// list replaces the pin on the card, which could be wrong. For another transport of a listed relay it is the listed address.
    package func address(of relay: String) -> String? {
        if relays.contains(relay) { return relay }
        let name = Self.unpinned(relay)
        if let listed = relays.first(where: { Self.unpinned($0) == name }) {
            return listed == name ? relay : listed
        }
        guard let place = Place(name) else { return nil }
        return relays.first { Place(Self.unpinned($0)) == place }
    }

    /// The place of a relay. One port serves all transports with TLS, or all without.
    private struct Place: Equatable {
        private let isSecure: Bool
        /// The host with the port.
        private let authority: String
        private let path: String

        private static let schemes: [(name: String, isSecure: Bool, port: String?)] = [
            ("tcp", false, nil), ("ws", false, "80"), ("http", false, "80"),
            ("tls", true, nil), ("wss", true, "443"), ("https", true, "443"),
        ]

        /// Reads an address without a pin; `nil` for another scheme, or without a port that is required.
        init?(_ address: String) {
            guard let mark = address.firstIndex(of: ":"), address[mark...].hasPrefix("://"),
                let scheme = Self.schemes.first(where: { $0.name == address[..<mark] })
            else { return nil }
            let rest = address[mark...].dropFirst("://".count)
            let host = rest.prefix { $0 != "/" }
            let path = rest.dropFirst(host.count)
            // The colons of an IPv6 address are in brackets.
            let hasPort = host.reversed().prefix { $0 != "]" }.contains(":")
            guard hasPort || scheme.port != nil else { return nil }
            isSecure = scheme.isSecure
            authority = String(host) + (hasPort ? "" : ":" + (scheme.port ?? ""))
            self.path = path == "/" ? "" : String(path)
        }
    }

    private static func unpinned(_ relay: String) -> String { String(relay.prefix { $0 != "#" }) }
}

extension GroupPolicy.Visibility {
    fileprivate var narrowness: Int {
        switch self {
        case .global: 0
        case .joined: 1
        case .granted: 2
        }
    }
}
