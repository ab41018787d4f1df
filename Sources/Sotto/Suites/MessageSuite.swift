import SottoPadding

/// A suite whose messages need no session. Each suite is implemented in one file, and ``Suite`` names it.
public protocol MessageSuite {
    /// The properties of the suite.
    static var traits: SuiteTraits { get }

    /// Encrypts a message for one recipient, or for a chat.
    static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope

    /// Opens an envelope. The message's trust is ``Message/Trust/unverified``; the caller knows whether the sender's
    /// key is a contact's. The messengers' suites and ``Suite/phrase`` throw ``SuiteError/refused`` for every failure.
    static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message

    /// Returns the value that a message shares with its repeats in other envelopes, or `nil` if the envelope's id is
    /// authenticated.
    static func repeatID(of envelope: Envelope) -> String?

    /// Returns the envelopes of one message in the messenger's own form.
    static func appLines(of envelopes: [Envelope], with keys: SuiteKeys) throws -> [AppLine]

    /// Creates an envelope from the messenger's own record or text. Throws ``SuiteError/refused`` for any other line.
    static func envelope(ofApp line: AppLine, with keys: SuiteKeys) throws -> Envelope
}

extension MessageSuite {
    /// Returns `nil`: the envelope's id is authenticated.
    public static func repeatID(of envelope: Envelope) -> String? { nil }

    /// Throws ``SuiteError/noForm``.
    public static func appLines(
        of envelopes: [Envelope], with keys: SuiteKeys
    ) throws -> [AppLine] {
        throw SuiteError.noForm
    }

    /// Throws ``SuiteError/noForm``.
    public static func envelope(ofApp line: AppLine, with keys: SuiteKeys) throws -> Envelope {
        throw SuiteError.noForm
    }
}

/// A line in a messenger's own form.
public enum AppLine: Sendable {
    case record(JSONObject)
    case text(String)
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

    /// Creates a message, by default with a new id and the current time.
    public init(
        body: JSONObject, extra: [(name: String, value: JSON)] = [],
        id: String = Envelope.newID(), milliseconds: Int64 = Timestamp.milliseconds()
    ) {
        self.body = body
        self.extra = extra
        self.id = id
        self.milliseconds = milliseconds
    }

    /// The time of creation.
    public var time: Timestamp { Timestamp(seconds: milliseconds / 1000) }

    /// Returns the text, for a suite that carries only text. Throws ``SuiteError/textOnly`` if another member would be
    /// lost.
    func text(members: Set<String> = []) throws(SuiteError) -> String {
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
    /// The recipient's mailbox, or `nil` for a chat or a recipient without a mailbox.
    public let id: SessionID?
    /// The card to encrypt to.
    public let card: Card?
    /// The recipient's accounts in other messengers.
    public let profiles: Profiles

    /// Creates a recipient.
    public init(id: SessionID?, card: Card? = nil, profiles: Profiles = Profiles()) {
        self.id = id
        self.card = card
        self.profiles = profiles
    }

    /// The members of a chat.
    public static let chat = Recipient(id: nil)
}

/// The options of the suites.
public struct SuiteOptions: Sendable {
    /// All suites: encrypt to a card's classic key.
    public var classic = false
    /// `shainy`: write SHAiny's GCM form, not the documented CBC.
    public var gcm = false
    /// `shainy`: write zeros in place of the text's hash.
    public var hidesHash = false
    /// `shainy`: write to the public channel, whose phrase is public.
    public var isPublic = false
    /// `shainy`: write the chat's key as the id, as the messenger does.
    public var showsSecret = false
    /// `whisper2`: the group's id.
    public var group: String?
    /// `whisper2`: the user's account, in place of the identity's.
    public var whisperID: WhisperID?
    /// `whisper2`: creates the pointer to an attached file.
    public var attachment:
        (@Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer)?

    /// `shainy`: open texts whose hash is hidden.
    public var allowsHiddenHash = false
    /// `whisper2`: the largest difference between a message's time and now, in milliseconds.
    public var maximumSkew: Int64?
    /// `mercurio`: the padding of the wrapped key.
    public var rsaPadding = MercurioPrivateKey.Padding.sha256

    /// Creates the default options.
    public init() {}
}

/// The keys for a suite. Keys that take time to derive are derived once, on demand.
public final class SuiteKeys {
    private let identityOrNone: Identity?
    /// The chats whose phrases the user knows.
    public let chats: [Chat]
    /// The options of the suites.
    public let options: SuiteOptions
    /// Returns the keys for a WhisperID, and the id of the contact, or `nil` if the account is unknown.
    public var whisper2Account: (WhisperID) throws -> (id: SessionID?, account: Whisper2Contact)? =
        {
            _ in nil
        }
    /// Returns the id of the contact with a Mercurio id, or `nil` if it is unknown.
    public var mercurioOwner: (SessionID) throws -> SessionID? = { _ in nil }

    private var whisper2: Whisper2Keys?
    private var mercurio: MercurioIdentity?
    private var rsa: MercurioPrivateKey?

    /// Creates the keys of an identity and of chats. A chat needs no identity.
    public init(identity: Identity?, chats: [Chat] = [], options: SuiteOptions = SuiteOptions()) {
        identityOrNone = identity
        self.chats = chats
        self.options = options
    }

    func identity() throws(SuiteError) -> Identity {
        guard let identityOrNone else { throw .refused }
        return identityOrNone
    }

    /// The user's mailbox.
    var ownID: SessionID? { identityOrNone?.id }

    /// Returns the only chat. Throws ``SuiteError/noChat`` or ``SuiteError/severalChats``.
    func chat() throws(SuiteError) -> Chat {
        guard let chat = chats.first else { throw .noChat }
        guard chats.count == 1 else { throw .severalChats }
        return chat
    }

    /// Returns the user's WhisperID. Throws ``SuiteError/noWhisperID``.
    public func ownWhisperID() throws(SuiteError) -> WhisperID {
        guard let id = options.whisperID ?? identityOrNone?.whisperID else { throw .noWhisperID }
        return id
    }

    func whisper2Keys() throws -> Whisper2Keys {
        if let whisper2 { return whisper2 }
        let keys = try identity().whisper2Keys()
        whisper2 = keys
        return keys
    }

    func mercurioIdentity() throws -> MercurioIdentity {
        if let mercurio { return mercurio }
        let identity = try identity().mercurioIdentity()
        mercurio = identity
        return identity
    }

    func rsaKey() throws -> MercurioPrivateKey {
        if let rsa { return rsa }
        guard let key = try identity().rsaKey() else { throw SuiteError.noRSAKey }
        rsa = key
        return key
    }
}
