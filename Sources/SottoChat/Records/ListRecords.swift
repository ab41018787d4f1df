import Sotto
import SottoBytes

/// A conversation of `history list`.
struct ChatConversation: Sendable, Hashable {
    var key: ConversationKey
    var name: String
    var unread: Int
    var isMuted: Bool
    var time: Timestamp?
    /// The last message on one line.
    var last: String
    var lastIsOwn: Bool
    var timer: Int64?

    init?(_ record: JSONObject) {
        guard record["type"]?.string == "conversation", let name = record["name"]?.string else {
            return nil
        }
        if let id = record["with"]?.string {
            key = .person(Cells.line(id, limit: 80))
        } else if let id = record["group"]?.string {
            key = .group(Cells.line(id, limit: 80))
        } else if let chat = record["chat"]?.string {
            key = .chat(chat)
        } else {
            return nil
        }
        self.name = Cells.line(name, limit: 40)
        unread = Int(clamping: max(0, record["unread"]?.integer ?? 0))
        isMuted = record["muted"]?.bool == true
        time = record["time"]?.string.flatMap { Timestamp($0) }
        timer = record["timer"]?.integer
        let last = record["last"]?.object
        lastIsOwn = last?["direction"]?.string == "sent"
        self.last = last.map(Self.words) ?? ""
    }

    private static func words(_ last: JSONObject) -> String {
        if last["deleted"]?.bool == true { return "[deleted]" }
        guard let body = last["body"]?.object else { return "" }
        switch body["type"]?.string {
        case "text": return Cells.line(body["text"]?.string ?? "", limit: 200)
        case "file": return "[file \(Cells.line(body["name"]?.string ?? "?", limit: 40))]"
        case "system": return "[\(Cells.line(body["event"]?.string ?? "event", limit: 40))]"
        case let type?: return "[\(Cells.line(type, limit: 30))]"
        case nil: return ""
        }
    }
}

/// A contact of `contact list`.
struct ChatContact: Sendable, Hashable {
    var id: String
    var name: String
    var isVerified: Bool
    var isBlocked: Bool
    var hasChangedKey: Bool
    var sendsTyping: Bool
    var sendsPresence: Bool
    /// Whether the next message has forward secrecy.
    var hasForwardSecrecy: Bool

    init?(_ record: JSONObject) {
        guard record["type"]?.string == "contact-entry", let id = record["id"]?.string,
            let name = record["name"]?.string, !name.isEmpty
        else { return nil }
        self.id = Cells.line(id, limit: 80)
        self.name = Cells.line(name, limit: 40)
        isVerified = record["trust"]?.string == "verified"
        isBlocked = record["blocked"]?.bool == true
        hasChangedKey = record["changed"] != nil
        sendsTyping = record["typing"]?.bool == true
        sendsPresence = record["presence"]?.bool == true
        hasForwardSecrecy = record["uses"]?.string == "ratchet"
    }
}

/// The waiting messages of an unknown sender, from `contact requests`.
struct ChatRequest: Sendable, Hashable {
    var id: String
    var count: Int
    var claimedName: String?

    init?(_ record: JSONObject) {
        guard record["type"]?.string == "requests", let id = record["from"]?.string else {
            return nil
        }
        self.id = Cells.line(id, limit: 80)
        count = Int(clamping: record["count"]?.integer ?? 0)
        claimedName = record["claimedName"]?.string.map { Cells.line($0, limit: 40) }
    }
}

/// A group of `group list` or `group show`.
struct ChatGroup: Sendable, Hashable {
    var id: String
    var name: String
    var standing: String
    var rank: String
    var members: Int
    var inviter: String
    var post: String
    var asksForGrants: Bool
    /// The lifetime of messages in seconds.
    var timer: Int64?
    var isUnconfirmed: Bool
    /// Whether an owner deleted the group for all.
    var isDeleted: Bool

    /// The ranks, the lowest first.
    static let ranks = ["nobody", "reader", "member", "moderator", "admin", "owner"]

    init?(_ record: JSONObject) {
        guard record["type"]?.string == "group", let id = record["id"]?.string,
            let name = record["name"]?.string
        else { return nil }
        self.id = Cells.line(id, limit: 80)
        self.name = Cells.line(name, limit: 40)
        standing = Cells.line(record["standing"]?.string ?? "", limit: 20)
        rank = Cells.line(record["rank"]?.string ?? "nobody", limit: 20)
        members = Int(clamping: record["members"]?.integer ?? 0)
        inviter = Cells.line(record["by"]?.string ?? "", limit: 80)
        let policy = record["policy"]?.object
        post = Cells.line(policy?["post"]?.string ?? "member", limit: 20)
        asksForGrants = policy?["visibility"]?.string == "granted"
        timer = record["timer"]?.integer.flatMap { $0 > 0 ? $0 : nil }
        isUnconfirmed = record["unconfirmed"]?.bool == true
        isDeleted = record["deleted"]?.bool == true
    }

    /// Whether the list shows its conversation: not before an invitation is accepted, nor after the user left or it was deleted.
    var isShown: Bool { standing == "member" && !isDeleted || standing == "unreadable" }

    /// Whether the own rank permits messages.
    var mayPost: Bool {
        guard standing == "member", !isDeleted else { return false }
        let own = Self.ranks.firstIndex(of: rank) ?? 0
        return own >= Self.ranks.firstIndex(of: post) ?? 0
    }
}

/// A member of a group, from `group participants`.
struct ChatMember: Sendable, Hashable {
    var id: String
    var name: String
    var role: String
    var isMe: Bool
    var seesMe: Bool

    init?(_ record: JSONObject) {
        guard record["type"]?.string == "participant", let id = record["id"]?.string else {
            return nil
        }
        self.id = Cells.line(id, limit: 80)
        role = Cells.line(record["role"]?.string ?? "", limit: 20)
        isMe = record["me"]?.bool == true
        seesMe = record["seesMe"]?.bool != false
        let known = record["name"]?.string ?? ""
        let isContact = !known.isEmpty && !known.hasPrefix(String(id.prefix(16)))
        if !isContact, let nickname = record["nickname"]?.string, !nickname.isEmpty {
            name = Cells.line(nickname, limit: 31) + " " + String(self.id.prefix(8))
        } else {
            name = Cells.line(known.isEmpty ? String(id.prefix(16)) : known, limit: 40)
        }
    }
}
