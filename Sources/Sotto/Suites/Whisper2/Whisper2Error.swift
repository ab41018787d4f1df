/// Why a record is not a Whisper2 frame.
public enum Whisper2RecordError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// `protocolVersion` or `cryptoVersion` is not 1.
    case version(Int64)
    /// A group message has none or more than ``Whisper2GroupMessage/memberLimit`` recipients.
    case recipientCount(Int)
    /// A recipient occurs twice.
    case duplicateRecipient
}

/// Why a Whisper2 frame could not be made.
public enum Whisper2SealError: Error, Sendable, Equatable {
    /// A text has more bytes than this.
    case tooLong(limit: Int)
    /// A text is not UTF-8.
    case notText
    /// The recipient's X25519 key has low order.
    case recipientKey
    /// A group message to none or to more than ``Whisper2GroupMessage/memberLimit`` members.
    case recipientCount(Int)
    /// A member occurs twice.
    case duplicateRecipient
    /// A field is not of the form that readers accept.
    case field(String)
}

/// Why a Whisper2 frame was not opened.
public enum Whisper2OpenError: Error, Sendable, Equatable {
    /// It is for another account.
    case notForUs
    /// It names another sender than the contact whose keys were given.
    case otherSender
    /// The sender's signing key is not known, and the caller did not allow that.
    case unverified
    /// The signature, the box or a key is wrong; which one is not told.
    case authentication
    /// A text is longer than its limit in bytes, or not UTF-8.
    case text(limit: Int)
}
