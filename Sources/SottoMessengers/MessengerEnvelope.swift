public import Sotto
public import SottoState

/// The messengers whose messages need no session.
public enum Messenger: String, Sendable, CaseIterable {
    case shainy, whisper2, mercurio

    /// Returns the messenger of a record that waits for a decision about its sender. Returns `nil` for any other record, such as an
    /// envelope.
    public init?(of record: JSONObject) {
        if record["protocolVersion"] != nil, record["from"] != nil {
            self = .whisper2
        } else if MercurioFormat.payloadMembers.contains(where: { record[$0] != nil }),
            record["type"] == nil
        {
            self = .mercurio
        } else {
            return nil
        }
    }

    /// The type that makes and opens its messages.
    public var format: any MessengerFormat.Type {
        switch self {
        case .shainy: ShainyFormat.self
        case .whisper2: Whisper2Format.self
        case .mercurio: MercurioFormat.self
        }
    }
}

extension SuiteName {
    /// SHAiny's format.
    public static let shainy = SuiteName(rawValue: Messenger.shainy.rawValue)
    /// Whisper2's format.
    public static let whisper2 = SuiteName(rawValue: Messenger.whisper2.rawValue)
    /// Mercurio's format.
    public static let mercurio = SuiteName(rawValue: Messenger.mercurio.rawValue)
}

/// A messenger's own format of messages without a session. Each is implemented in one file, and ``Messenger`` names it.
public protocol MessengerFormat {
    /// The members of a record that the format interprets.
    static var payloadMembers: [String] { get }
    /// The members of a record that are encrypted, and those that prove or describe them.
    static var encryptedMembers: [String] { get }
    /// The reason to use the format only for exchange with its messenger: one sentence without a full stop.
    static var legacyReason: String { get }
    /// The protection in the order of ``SuiteTraits/columns``.
    static var protection: [String] { get }

    /// Encrypts a message for one recipient, or for a chat.
    static func seal(
        _ draft: Draft, to recipient: MessengerRecipient, with keys: MessengerKeys
    ) throws -> MessengerEnvelope

    /// Returns the details of a message that ``seal(_:to:with:)`` encrypted, as its recipient's ``open(_:with:)`` has them.
    static func details(
        ofSealed envelope: MessengerEnvelope, to recipient: MessengerRecipient,
        with keys: MessengerKeys
    ) throws -> JSONObject?

    /// Opens a message. Its trust is ``Message/Trust/unverified``; the caller knows whether the sender's key is a
    /// contact's. Throws ``SuiteError/refused`` for every failure.
    static func open(_ envelope: MessengerEnvelope, with keys: MessengerKeys) throws -> Message

    /// Returns the sender of a message if nothing can be opened without the sender's keys, and these are not known.
    static func unknownSender(
        of envelope: MessengerEnvelope, with keys: MessengerKeys
    ) throws -> UnknownSender?

    /// Returns the value that a message shares with its repeats.
    static func repeatID(of envelope: MessengerEnvelope) -> String

    /// Returns the messenger's own records of one message to several recipients.
    static func records(
        of envelopes: [MessengerEnvelope], with keys: MessengerKeys
    ) throws -> [JSONObject]

    /// Reads the messenger's own record. Throws ``SuiteError/refused`` for any other record.
    static func envelope(
        of record: JSONObject, with keys: MessengerKeys
    ) throws -> MessengerEnvelope
}

extension MessengerFormat {
    /// Returns `nil`: a message can be opened without the sender's keys.
    public static func unknownSender(
        of envelope: MessengerEnvelope, with keys: MessengerKeys
    ) throws -> UnknownSender? { nil }
}

/// A message in a messenger's own format, with the values that the state needs to recognise repeats.
public struct MessengerEnvelope: Sendable {
    /// A lower-case UUID: the id that the message has for its recipient.
    public let id: String
    /// The messenger.
    public let messenger: Messenger
    /// The mailbox or account of the recipient, if it is known.
    public let to: KeyID?
    /// The time of creation. The format may not authenticate it.
    public let time: Timestamp
    /// The members of the messenger's record.
    public let payload: JSONObject

    init(
        id: String, messenger: Messenger, to: KeyID?, time: Timestamp, payload: JSONObject
    ) {
        self.id = id
        self.messenger = messenger
        self.to = to
        self.time = time
        self.payload = payload
    }

    /// SHA-256 over the messenger's name and the members that its format interprets.
    public var digest: [UInt8] {
        Envelope.digest([messenger.rawValue], messenger.format.payloadMembers, of: payload)
    }

    /// The value that the message shares with its repeats.
    public var repeatID: String { messenger.format.repeatID(of: self) }
}

/// The recipient of a message in a messenger's own format.
public struct MessengerRecipient: Sendable {
    /// The recipient's id, or `nil` for a chat.
    public let id: KeyID?
    /// The recipient's accounts.
    public let profiles: Profiles

    /// Creates a recipient.
    public init(id: KeyID?, profiles: Profiles = Profiles()) {
        self.id = id
        self.profiles = profiles
    }

    /// The members of a chat.
    public static let chat = MessengerRecipient(id: nil)
}
