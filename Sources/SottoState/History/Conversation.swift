public import Sotto

/// The correspondence that a message belongs to.
public enum Conversation: Sendable, Hashable {
    /// The messages with one peer; with the owner's own id, the notes to oneself.
    case peer(KeyID)
    /// The messages of a chat, by the chat's id.
    case chat(String)
    /// The messages of a group.
    case group(GroupID)
    /// The messages whose sender is not authenticated and that belong to no chat.
    case unknown

    /// Returns the conversation of a message record of the identity `owner`: the chat that `details` names, else the
    /// peer.
    public init(of record: JSONObject, owner: KeyID) {
        func id(_ name: String) -> KeyID? { record[name]?.string.flatMap { KeyID($0) } }
        let from = id("from")
        if let group = record["group"]?.string.flatMap({ GroupID($0) }) {
            self = .group(group)
        } else if from == nil || from == owner,
            let chat = record["details"]?.object?["chat"]?.object?["id"]?.string
        {
            self = .chat(chat)
        } else if let peer = from == owner ? id("to") ?? owner : from {
            self = .peer(peer)
        } else {
            self = .unknown
        }
    }

    /// Returns the conversation of a message of the identity `owner`, as for its record.
    package init(of message: Message, owner: KeyID) {
        if let group = message.group.flatMap({ GroupID($0) }) {
            self = .group(group)
        } else if message.from == nil || message.from == owner,
            let chat = message.details?["chat"]?.object?["id"]?.string
        {
            self = .chat(chat)
        } else if let peer = message.from == owner ? message.to ?? owner : message.from {
            self = .peer(peer)
        } else {
            self = .unknown
        }
    }

    /// The peer, or `nil` for a conversation that is not with one peer.
    public var peer: KeyID? { if case .peer(let peer) = self { peer } else { nil } }

    /// The group, or `nil`.
    public var group: GroupID? { if case .group(let id) = self { id } else { nil } }

    /// Whether others than the author may delete a message. The program that opened or wrote the deletion has
    /// checked the rank.
    var isModerated: Bool { group != nil }

    /// The members that the sealed row stores.
    var members: JSONObject {
        switch self {
        case .peer(let peer): ["peer": .string(peer.description)]
        case .chat(let id): ["chat": .string(id)]
        case .group(let id): ["group": .string(id.description)]
        case .unknown: [:]
        }
    }

    /// Reads ``members``.
    init?(_ members: JSONObject) {
        if let text = members["peer"]?.string {
            guard let peer = KeyID(text) else { return nil }
            self = .peer(peer)
        } else if let id = members["chat"]?.string {
            self = .chat(id)
        } else if let text = members["group"]?.string {
            guard let id = GroupID(text) else { return nil }
            self = .group(id)
        } else {
            self = .unknown
        }
    }
}

/// The owner's decisions about a conversation.
public struct ConversationSettings: Sendable, Hashable {
    /// The owner's name for the conversation, or `nil` for the contact's name or the chat's.
    public var name: String?
    /// Whether the conversation is listed first.
    public var isFavourite = false
    /// Whether new messages are not announced.
    public var isMuted = false
    /// The lifetime that both sides see, in seconds; 0 is no limit. A message with the body `timer` sets it.
    public package(set) var timer: Int64 = 0
    /// When the timer was set, as its writer says, in seconds since 1970.
    package var timerTime: Int64 = .min

    /// Creates the settings of a new conversation.
    public init() {}

    /// Reads ``members``. Other members are ignored.
    package init(_ members: JSONObject) {
        name = members["name"]?.string
        isFavourite = members["favourite"]?.bool ?? false
        isMuted = members["muted"]?.bool ?? false
        timer = members["timer"]?.integer ?? 0
        timerTime = members["timerTime"]?.integer ?? .min
    }

    /// The settings that differ from those of a new conversation.
    package var members: [(String, JSON?)] {
        [
            ("name", name.map { .string($0) }), ("favourite", isFavourite ? .bool(true) : nil),
            ("muted", isMuted ? .bool(true) : nil),
            ("timer", timerTime == .min ? nil : .integer(timer)),
            ("timerTime", timerTime == .min ? nil : .integer(timerTime)),
        ]
    }
}

/// A conversation in the list.
public struct ConversationSummary: Sendable, Hashable {
    /// The conversation.
    public let conversation: Conversation
    /// The owner's decisions.
    public let settings: ConversationSettings
    /// The number of received messages that were not marked as read.
    public let unread: Int
    /// The number of the last message that was marked as read, or 0. The messages before its place are read.
    public let read: Int64
    /// The place of ``read``.
    public let readPlace: HistoryPlace
    /// When the last message was stored; `nil` without a message, or if it was imported without a time.
    public let time: Timestamp?
    /// The number of the last message with content, or 0 without one. It is a claim of an import only if all are.
    public let last: Int64
    /// The place of ``last``.
    public let lastPlace: HistoryPlace
    /// Whether an import only claims the authors of all messages.
    public let isClaimed: Bool
}

extension ConversationSummary {
    /// The order in the list.
    var order: (Int, Int, HistoryPlace) {
        (settings.isFavourite ? 1 : 0, isClaimed ? 0 : 1, lastPlace)
    }
}
