/// A suite whose messages need no session: one file implements one, and ``Suite`` names it.
public protocol MessageSuite {
    /// What is to be known of it.
    static var traits: SuiteTraits { get }

    /// Protects a message for one recipient, or for a chat.
    static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope

    /// Opens an envelope. The message's trust is ``Message/Trust/unverified``: whose key the sender's is, the caller
    /// knows. Of the messengers' suites and ``Suite/phrase`` every failure is ``SuiteError/refused``.
    static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message

    /// What a message has in common with its repeats in other envelopes; `nil` where the envelope's id is authenticated.
    static func repeatID(of envelope: Envelope) -> String?

    /// The envelopes of one message in the form that the messenger itself uses.
    static func appLines(of envelopes: [Envelope], with keys: SuiteKeys) throws -> [AppLine]

    /// An envelope around the messenger's own record, or text. Throws ``SuiteError/refused`` for what is neither.
    static func envelope(ofApp line: AppLine, with keys: SuiteKeys) throws -> Envelope
}

extension MessageSuite {
    /// None: the envelope's id is authenticated.
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

/// A line as a messenger itself writes it.
public enum AppLine: Sendable {
    case record(JSONObject)
    case text(String)
}

/// A message before it is protected.
public struct Draft: Sendable {
    /// What it says.
    public let body: JSONObject
    /// Members that pass through.
    public let extra: [(name: String, value: JSON)]
    /// Its id, a lower-case UUID.
    public let id: String
    /// When it is made, in milliseconds since 1970 began.
    public let milliseconds: Int64

    /// A message of these parts, made now unless told otherwise.
    public init(
        body: JSONObject, extra: [(name: String, value: JSON)] = [],
        id: String = Envelope.newID(), milliseconds: Int64 = Timestamp.milliseconds()
    ) {
        self.body = body
        self.extra = extra
        self.id = id
        self.milliseconds = milliseconds
    }

    /// When it is made.
    public var time: Timestamp { Timestamp(seconds: milliseconds / 1000) }

    /// What it says, for a suite that carries text alone. Throws ``SuiteError/textOnly`` where anything would be lost.
    func text(members: Set<String> = []) throws(SuiteError) -> String {
        guard extra.isEmpty, body["type"]?.string == "text", let text = body["text"]?.string,
            body.members.allSatisfy({
                ["type", "text"].contains($0.name) || members.contains($0.name)
            })
        else { throw .textOnly }
        return text
    }
}

/// Whom a message is for.
public struct Recipient: Sendable {
    /// The mailbox; `nil` for a chat, or for somebody who has none.
    public let id: SessionID?
    /// The card to encrypt to.
    public let card: Card?
    /// Their accounts in other messengers.
    public let profiles: Profiles

    /// Somebody of these parts.
    public init(id: SessionID?, card: Card? = nil, profiles: Profiles = Profiles()) {
        self.id = id
        self.card = card
        self.profiles = profiles
    }

    /// Whoever knows a chat's phrase.
    public static let chat = Recipient(id: nil)
}

/// What was asked for where a suite leaves a choice.
public struct SuiteOptions: Sendable {
    /// Write to a card's classic key.
    public var classic = false
    /// `shainy`: write the program's GCM form, not the documented CBC.
    public var gcm = false
    /// `shainy`: write zeros in place of the text's hash.
    public var hidesHash = false
    /// `shainy`: write to the channel whose phrase everybody knows.
    public var isPublic = false
    /// `shainy`: write the chat's key where the messenger has it, as the id.
    public var showsSecret = false
    /// `whisper2`: the group's id.
    public var group: String?
    /// `whisper2`: our own account, in place of the identity's.
    public var whisperID: WhisperID?
    /// `whisper2`: what the message says of a file.
    public var attachment:
        (@Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer)?

    /// `shainy`: open texts whose hash is hidden.
    public var allowsHiddenHash = false
    /// `whisper2`: how far a message's time may be from now, in milliseconds.
    public var maximumSkew: Int64?
    /// `mercurio`: how the key was wrapped.
    public var rsaPadding = MercurioPrivateKey.Padding.sha256

    /// Nothing asked for.
    public init() {}
}

/// The keys that a suite works with. What costs time to derive is derived once, when it is needed.
public final class SuiteKeys {
    private let identityOrNone: Identity?
    /// The chats whose phrases we know.
    public let chats: [Chat]
    /// What was asked for.
    public let options: SuiteOptions
    /// Finds somebody's keys by their WhisperID, and who they are to us.
    public var whisper2Account: (WhisperID) throws -> (id: SessionID?, account: Whisper2Contact)? =
        {
            _ in nil
        }
    /// Finds who somebody is to us by their Mercurio id.
    public var mercurioOwner: (SessionID) throws -> SessionID? = { _ in nil }

    private var whisper2: Whisper2Keys?
    private var mercurio: MercurioIdentity?
    private var rsa: MercurioPrivateKey?

    /// The keys of an identity, which a chat does not need, and of chats.
    public init(identity: Identity?, chats: [Chat] = [], options: SuiteOptions = SuiteOptions()) {
        identityOrNone = identity
        self.chats = chats
        self.options = options
    }

    func identity() throws(SuiteError) -> Identity {
        guard let identityOrNone else { throw .refused }
        return identityOrNone
    }

    /// Our mailbox.
    var ownID: SessionID? { identityOrNone?.id }

    /// The only chat. Throws ``SuiteError/noChat`` or ``SuiteError/severalChats``.
    func chat() throws(SuiteError) -> Chat {
        guard let chat = chats.first else { throw .noChat }
        guard chats.count == 1 else { throw .severalChats }
        return chat
    }

    /// Our account in Whisper2. Throws ``SuiteError/noWhisperID``.
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
