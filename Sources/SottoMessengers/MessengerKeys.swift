public import Sotto

/// The options of the formats.
public struct MessengerOptions: Sendable {
    /// SHAiny: write the GCM form, not the documented CBC.
    public var gcm = false
    /// SHAiny: write zeros in place of the text's hash.
    public var hidesHash = false
    /// SHAiny: write to the public channel, whose phrase is public.
    public var isPublic = false
    /// SHAiny: write the chat's key as the id, as the messenger does.
    public var showsSecret = false
    /// SHAiny: open texts whose hash is hidden.
    public var allowsHiddenHash = false
    /// Whisper2: the group's id.
    public var group: String?
    /// Whisper2: the user's account, in place of the identity's.
    public var whisperID: WhisperID?
    /// Whisper2: creates the pointer to an attached file.
    public var attachment:
        (@Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer)?
    /// Whisper2: the largest difference between a message's time and now, in milliseconds.
    public var maximumSkew: Int64?
    /// Mercurio: the padding of the wrapped key.
    public var rsaPadding = MercurioPrivateKey.Padding.sha256
    /// Mercurio: the spelling of the members that are written.
    public var spelling = MercurioSpelling.camelCase

    /// Creates the default options.
    public init() {}
}

/// The keys for the messengers' formats. Keys that take time to derive are derived once, on demand.
public final class MessengerKeys {
    private let identityOrNone: Identity?
    /// The chats whose phrases the user knows.
    public let chats: [MessengerChat]
    /// The options of the formats.
    public let options: MessengerOptions
    /// Returns the keys for a WhisperID, and the id of the contact, or `nil` if the keys are not known.
    public var whisper2Account: (WhisperID) throws -> (id: KeyID, account: Whisper2Contact)? =
        {
            _ in nil
        }
    /// Returns the id of the contact with a Mercurio id, or `nil` if it is unknown.
    public var mercurioOwner: (KeyID) throws -> KeyID? = { _ in nil }

    private var whisper2: Whisper2Keys?
    private var mercurio: MercurioIdentity?
    private var rsa: MercurioPrivateKey?

    /// Creates the keys of an identity and of chats. A chat needs no identity.
    public init(
        identity: Identity?, chats: [MessengerChat] = [],
        options: MessengerOptions = MessengerOptions()
    ) {
        identityOrNone = identity
        self.chats = chats
        self.options = options
    }

    func identity() throws(SuiteError) -> Identity {
        guard let identityOrNone else { throw .refused }
        return identityOrNone
    }

    /// The user's mailbox.
    var ownID: KeyID? { identityOrNone?.id }

    /// Returns the only chat. Throws ``SuiteError/noChat`` or ``SuiteError/severalChats``.
    func chat() throws(SuiteError) -> MessengerChat {
        guard let chat = chats.first else { throw .noChat }
        guard chats.count == 1 else { throw .severalChats }
        return chat
    }

    /// Returns the user's WhisperID. Throws ``MessengerError/noWhisperID``.
    public func ownWhisperID() throws -> WhisperID {
        guard let id = try options.whisperID ?? identityOrNone?.whisperID() else {
            throw MessengerError.noWhisperID
        }
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
        guard let key = try identity().rsaKey() else { throw MessengerError.noRSAKey }
        rsa = key
        return key
    }
}
