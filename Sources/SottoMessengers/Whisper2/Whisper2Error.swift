public import Sotto

/// A reason to refuse a record as a Whisper2 frame.
public enum Whisper2RecordError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// `protocolVersion` or `cryptoVersion` is not 1.
    case version(Int64)
    /// A group message has no recipients, or more than ``Whisper2GroupMessage/memberLimit``.
    case recipientCount(Int)
    /// A recipient occurs twice.
    case duplicateRecipient
}

/// A reason why a Whisper2 frame cannot be made.
public enum Whisper2SealError: Error, Sendable, Equatable {
    /// A text is longer than the limit, in bytes.
    case tooLong(limit: Int)
    /// A text is not UTF-8.
    case notText
    /// The recipient's X25519 key has low order.
    case recipientKey
    /// A group message has no recipients, or more than ``Whisper2GroupMessage/memberLimit``.
    case recipientCount(Int)
    /// A member occurs twice.
    case duplicateRecipient
    /// A field is malformed.
    case field(String)
}

/// A reason why a Whisper2 frame cannot be opened.
public enum Whisper2OpenError: Error, Sendable, Equatable {
    /// The frame is for another account.
    case notForUs
    /// The sender is not the contact whose keys were given.
    case otherSender
    /// The sender's signing key is not known, and the caller did not allow that.
    case unverified
    /// The signature, the box or a key is wrong. The error does not tell which.
    case authentication
    /// A text is longer than the limit in bytes, or is not UTF-8.
    case text(limit: Int)
}
