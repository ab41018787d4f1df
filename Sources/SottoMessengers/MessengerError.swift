/// A reason why a message in a messenger's own format cannot be made.
public enum MessengerError: Error, Sendable, Equatable {
    /// The format carries only text.
    case textOnly
    /// The message is longer than the format's limit, in bytes.
    case tooLong(limit: Int)
    /// The recipient's keys in this messenger are not known.
    case noProfile(Profile)
    /// The user's own WhisperID is not known.
    case noWhisperID
    /// The identity has no RSA key.
    case noRSAKey
    /// The chat file has no key for SHAiny.
    case noShainyKey
    /// The phrase of the channel is public, and the user did not allow that.
    case publicChannel
    /// The messenger's record contains the chat's key, and the user did not allow showing it.
    case secretID
    /// The recipient's key is invalid.
    case recipientKey
    /// The group has more members than the limit of its messages.
    case memberCount(limit: Int)
    /// A member of a group is named twice.
    case duplicateMember
    /// A field of the messenger's record is malformed.
    case field(String)
}
