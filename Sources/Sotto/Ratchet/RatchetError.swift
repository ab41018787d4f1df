/// A reason to refuse a message. The session is unchanged.
public enum RatchetError: Error, Sendable, Equatable {
    /// The tag is wrong: the message was forged, changed or belongs to another session, or the state is an old copy.
    case authentication
    /// The message key was used or deleted: the message is a replay, or older than the keys that are kept.
    case noKey
    /// The header would skip more than ``Session/maximumSkip`` messages.
    case tooManySkipped
    /// The message begins a chain of a hybrid session, and has no `kem`: the messages with it are late or lost, or a relay
    /// removed it.
    case missingKEM
    /// A counter has reached its maximum, 2³¹ − 1.
    case counterOverflow
    /// A public key that gives an all-zero shared secret.
    case lowOrderKey
    /// The payload is malformed.
    case payload
    /// The session is of a kind of a later version.
    case laterKind
    /// The message is longer than the limit of an envelope, in bytes.
    case tooLong(limit: Int)
    /// The time to live is shorter than ``Envelope/minimumSessionTTL``, in seconds.
    case shortTTL(minimum: Int64)
    /// The responder cannot send before the initiator's first message.
    case cannotSendYet
}

extension RatchetError {
    /// Whether the message may be authentic and open later, after other messages of its chain.
    public var isEarly: Bool { self == .tooManySkipped || self == .missingKEM }
}

extension RatchetError: UnversionedRecordError {
    /// Returns ``payload``.
    public static func member(_ name: String) -> RatchetError { .payload }
}
