import Sotto
import SottoBytes
import SottoProgram

/// The most columns of a name. A name that is completed by Tab must be whole.
private let nameLimit = 128

/// A conversation of `history list`.
struct ChatConversation: Sendable, Hashable {
    var key: ConversationKey
    var name: String
    var unread: Int
    /// The number of the last message that is marked as read, or 0.
    var read: Int64
    var isMuted: Bool
    var time: Timestamp?
    /// The last message on one line.
    var last: String
    var lastIsOwn: Bool
    /// The number of the last message, or `nil`.
    var lastNumber: Int64?
    var timer: Int64?

    init?(_ record: JSONObject) {
        guard record.isA("conversation"), let name = record.line("name", limit: nameLimit) else {
            return nil
        }
        self.name = name
        if let id = record.line("with") {
            key = .person(id)
        } else if let id = record.line("group") {
            key = .group(id)
        } else if let chat = record["chat"]?.string {
            key = .chat(chat)
        } else {
            return nil
        }
        unread = record.count("unread")
        read = max(0, record["read"]?.integer ?? 0)
        isMuted = record.isTrue("muted")
        time = record.time("time")
        timer = record["timer"]?.integer
        let last = record["last"]?.object
        let isEvent = last?["body"]?.object?["type"]?.string == "system"
        lastIsOwn = last?["direction"]?.string == "sent" && !isEvent
        lastNumber = last?["number"]?.integer
        let place = key
        self.last = last.map { Self.words($0, in: place) } ?? ""
    }

    private static func words(_ last: JSONObject, in key: ConversationKey) -> String {
        if last.isTrue("deleted") { return "[deleted]" }
        guard let body = last["body"]?.object else { return "" }
        switch body["type"]?.string {
        case "text": return Words.said(body.line("text", limit: 200) ?? "")
        case "file": return "[file \(body.line("name", limit: 40) ?? "?")]"
        case "system": return "[\(ChatMessage.systemWords(body))]"
        case "timer": return "[\(ChatMessage.timerWords(body, in: key))]"
        case "repair": return "[\(ChatMessage.lossWords)]"
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
    /// Whether another key is offered, about which the user has not decided.
    var hasChangedKey: Bool
    /// The id of that key, if the record has it.
    var offeredID: String?
    var sendsTyping: Bool
    var sendsPresence: Bool
    /// Whether the next message has forward secrecy.
    var hasForwardSecrecy: Bool
    /// Whether no card is known. An account in another messenger has none.
    var lacksCard: Bool

    init?(_ record: JSONObject) {
        guard record.isA("contact-entry"), let id = record.line("id"),
            let name = record.line("name", limit: nameLimit), record["name"] != .string("")
        else { return nil }
        (self.id, self.name) = (id, name)
        isVerified = record["trust"]?.string == "verified"
        isBlocked = record.isTrue("blocked")
        hasChangedKey = record["changed"] != nil
        offeredID = record["changed"]?.object?.line("id")
        sendsTyping = record.isTrue("typing")
        sendsPresence = record.isTrue("presence")
        hasForwardSecrecy = record["uses"]?.string == "ratchet"
        lacksCard = record["card"] == nil && record["profiles"] == nil
    }

    /// The words for an offered key, or `nil` if none is offered.
    var keyChange: String? {
        guard hasChangedKey else { return nil }
        let who = shellWord(name)
        // With the beginning of the id, the command accepts no other key.
        let offered = offeredID.map { $0 == id ? "" : " \($0.prefix(16))" } ?? ""
        return
            "\(name)'s key changed, and nothing is sent until you decide: /verify shows both keys; ask \(name) on another channel, then "
            + "sotto contact accept-key \(who)\(offered), or sotto contact keep-key \(who)"
    }
}

/// The waiting messages of an unknown sender, from `contact requests`.
struct ChatRequest: Sendable, Hashable {
    var id: String
    var count: Int
    var claimedName: String?
    /// The name of the contact that has this key now, or `nil`.
    var contactName: String?

    init?(_ record: JSONObject) {
        // Messages of an account in another messenger are not accepted here: bridge opens them.
        guard record.isA("requests"), record["account"] == nil, let id = record.line("from") else {
            return nil
        }
        self.id = id
        count = record.count("count")
        claimedName = record.line("claimedName", limit: 40)
        contactName = record.line("name", limit: nameLimit)
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
    /// The ranks that write messages, invite, change settings, and pin or delete the messages of others.
    var post, add, edit, pin: String
    var asksForGrants: Bool
    /// The lifetime of messages in seconds.
    var timer: Int64?
    var isUnconfirmed: Bool
    /// Whether an owner deleted the group for all.
    var isDeleted: Bool

    /// The ranks, the lowest first.
    static let ranks = ["nobody", "reader", "member", "moderator", "admin", "owner"]

    init?(_ record: JSONObject) {
        guard record.isA("group"), let id = record.line("id"),
            let name = record.line("name", limit: nameLimit)
        else { return nil }
        // The owner can have given it another name.
        (self.id, self.name) = (id, record.line("called", limit: nameLimit) ?? name)
        standing = record.line("standing", limit: 20) ?? ""
        rank = record.line("rank", limit: 20) ?? "nobody"
        members = record.count("members")
        inviter = record.line("by") ?? ""
        let policy = record["policy"]?.object
        func least(_ rule: String, _ usual: String) -> String {
            policy?.line(rule, limit: 20) ?? usual
        }
        (post, add) = (least("post", "member"), least("add", "admin"))
        (edit, pin) = (least("edit", "admin"), least("pin", "moderator"))
        asksForGrants = policy?["visibility"]?.string == "granted"
        timer = record["timer"]?.integer.flatMap { $0 > 0 ? $0 : nil }
        isUnconfirmed = record.isTrue("unconfirmed")
        isDeleted = record.isTrue("deleted")
    }

    /// Whether the list shows its conversation: not before an invitation is accepted, nor after the user left or it was deleted.
    var isShown: Bool { standing == "member" && !isDeleted || standing == "unreadable" }
}

/// A member of a group, or a person who is invited, from `group participants`.
struct ChatMember: Sendable, Hashable {
    var id: String
    var name: String
    var role: String
    var isMe: Bool
    var isInvited: Bool
    var seesMe: Bool
    /// Whether another member reads the messages of the user.
    var readsMe: Bool { seesMe && !isMe && !isInvited }

    init?(_ record: JSONObject) {
        guard record.isA("participant"), let id = record.line("id") else { return nil }
        self.id = id
        role = record.line("role", limit: 20) ?? ""
        isMe = record.isTrue("me")
        isInvited = record["standing"]?.string == "invited"
        seesMe = record["seesMe"]?.bool != false
        let known = record["name"]?.string ?? ""
        let isContact = !known.isEmpty && !known.hasPrefix(String(id.prefix(16)))
        if !isContact, let nickname = record["nickname"]?.string, !nickname.isEmpty {
            name = Words.member(nickname, id)
        } else {
            name = Cells.line(known.isEmpty ? String(id.prefix(16)) : known, limit: nameLimit)
        }
    }
}
