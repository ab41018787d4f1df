import SottoPadding

/// A suite whose messages need no session. Each suite is implemented in one file, and ``Suite`` names it.
public protocol MessageSuite: SendableMetatype {
    /// Encrypts a message for one recipient, or for a chat.
    static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope

    /// Opens an envelope. The message's trust is ``Message/Trust/unverified``; the caller knows whether the sender's
    /// key is a contact's. ``Suite/phrase`` throws ``SuiteError/refused`` for every failure.
    static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message

    /// Returns the value that a message shares with its repeats in other envelopes, or `nil` if the envelope's id is
    /// authenticated.
    static func repeatID(of envelope: Envelope) -> String?
}

extension MessageSuite {
    /// Returns `nil`: the envelope's id is authenticated.
    public static func repeatID(of envelope: Envelope) -> String? { nil }
}

extension Suite {
    /// The type that makes and opens its messages, or `nil` for a suite that needs a session or a chain.
    public var messageSuite: (any MessageSuite.Type)? {
        switch self {
        case .sealed: Sealed.self
        case .ratchet, .group: nil
        case .phrase: PhraseSuite.self
        }
    }
}

extension Envelope {
    /// The value that a message shares with its repeats: the envelope's id, or the suite's replacement for it.
    public var repeatID: String { suite.messageSuite?.repeatID(of: self) ?? id }
}

/// A message before encryption.
public struct Draft: Sendable {
    /// The content.
    public let body: JSONObject
    /// The members that are passed through unchanged.
    public let extra: [(name: String, value: JSON)]
    /// The message's id, a lower-case UUID.
    public let id: String
    /// The time of creation, in milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64
    /// The time to live at the relay, in seconds, or `nil`; see ``Envelope/ttl``.
    public let ttl: Int64?

    /// Creates a message, by default with a new id and the current time.
    public init(
        body: JSONObject, extra: [(name: String, value: JSON)] = [],
        id: String = Envelope.newID(), milliseconds: Int64 = Timestamp.milliseconds(),
        ttl: Int64? = nil
    ) {
        self.body = body
        self.extra = extra
        self.id = id
        self.milliseconds = milliseconds
        self.ttl = ttl
    }

    /// The time of creation.
    public var time: Timestamp { Timestamp(seconds: milliseconds / 1000) }

    /// Returns the text, for a format that carries only text. `members` are members of the body that the format carries
    /// too. Throws ``SuiteError/textOnly`` if another member would be lost.
    public func text(members: Set<String> = []) throws(SuiteError) -> String {
        guard extra.isEmpty, body["type"]?.string == "text", let text = body["text"]?.string,
            body.members.allSatisfy({
                ["type", "text"].contains($0.name) || members.contains($0.name)
            })
        else { throw .textOnly }
        return text
    }
}

/// The recipient of a message.
public struct Recipient: Sendable {
    /// The recipient's mailbox, or `nil` for a chat.
    public let id: KeyID?
    /// The card to encrypt to.
    public let card: Card?

    /// Creates a recipient.
    public init(id: KeyID?, card: Card? = nil) {
        self.id = id
        self.card = card
    }

    /// The members of a chat.
    public static let chat = Recipient(id: nil)
}

/// The keys for the suites without a session.
public struct SuiteKeys: Sendable {
    private let identityOrNone: Identity?
    /// The chats whose phrases the user knows.
    public let chats: [Chat]
    /// Whether `sealed` encrypts to a card's classic key.
    public let classic: Bool

    /// Creates the keys of an identity and of chats. A chat needs no identity.
    public init(identity: Identity?, chats: [Chat] = [], classic: Bool = false) {
        identityOrNone = identity
        self.chats = chats
        self.classic = classic
    }

    func identity() throws(SuiteError) -> Identity {
        guard let identityOrNone else { throw .refused }
        return identityOrNone
    }

    /// Returns the only chat. Throws ``SuiteError/noChat`` or ``SuiteError/severalChats``.
    func chat() throws(SuiteError) -> Chat {
        guard let chat = chats.first else { throw .noChat }
        guard chats.count == 1 else { throw .severalChats }
        return chat
    }
}
