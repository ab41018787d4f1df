/// A reason why a suite without a session cannot make or open a message.
public enum SuiteError: Error, Sendable, Equatable {
    /// The message cannot be opened. All of these suites hide the cause, because an attacker who can submit messages
    /// and learns why they are refused can learn keys and texts.
    case refused
    /// The suite carries only text.
    case textOnly
    /// The message is longer than the suite's limit, in bytes.
    case tooLong(limit: Int)
    /// The recipient's keys in this messenger are not known.
    case noProfile(Profile)
    /// The user's own WhisperID is not known.
    case noWhisperID
    /// The identity has no RSA key.
    case noRSAKey
    /// No chat was named.
    case noChat
    /// More than one chat was named, but a message goes to only one.
    case severalChats
    /// The phrase of the channel is public, and the user did not allow that.
    case publicChannel
    /// The messenger's record contains the chat's key, and the user did not allow showing it.
    case secretID
    /// The messenger has no record of this form.
    case noForm
    /// The recipient's key is invalid.
    case recipientKey
    /// The group has more members than the limit of its messages.
    case memberCount(limit: Int)
    /// A member of a group is named twice.
    case duplicateMember
    /// A field of the messenger's record is malformed.
    case field(String)
}

extension SuiteError: ReportableError {
    /// The message for the user.
    public var message: String {
        switch self {
        case .refused: "the message cannot be opened"
        case .textOnly: "the suite carries only text"
        case .tooLong(let limit): "the message is longer than the suite's limit (\(limit) bytes)"
        case .noProfile(let profile): "the recipient's \(profile.rawValue) keys are not known"
        case .noWhisperID: "your WhisperID is not known"
        case .noRSAKey: "the identity has no RSA key"
        case .noChat: "the suite needs a chat"
        case .severalChats: "a message can go to only one chat"
        case .publicChannel: "everyone can read this channel, so nothing in it is confidential"
        case .secretID: "the messenger's record contains the chat's key as the chat's id"
        case .noForm: "the suite has no record of this form"
        case .recipientKey: "the recipient's key is not valid"
        case .memberCount(let limit): "a group message needs 1 to \(limit) recipients"
        case .duplicateMember: "a member of the group is named twice"
        case .field(let name): "\(name) is malformed for this suite"
        }
    }

    /// The hint for the user, or `nil`.
    public var hint: String? {
        switch self {
        case .refused:
            "it was changed, or the key, the chat or the sender's keys are wrong"
        case .textOnly, .severalChats, .recipientKey, .memberCount, .duplicateMember, .field: nil
        case .tooLong: "split it, or write a file with -r in place of --to"
        case .noProfile(let profile):
            "ask the recipient for a card with these keys: keygen public --include \(profile.rawValue)"
        case .noWhisperID: "give it with --whisper-id WSP-XXXX-XXXX-XXXX"
        case .noRSAKey:
            "make an identity with one from your words: keygen recover --rsa 3072 -o rsa.key"
        case .noChat: "name its file with --chat; to make one: keygen chat -o family.chat"
        case .publicChannel: "to write to it anyway: --public-channel"
        case .secretID: "to write it anyway: --show-secret"
        case .noForm: "leave out --form"
        }
    }

    /// The exit status.
    public var status: Int32 {
        switch self {
        case .refused: 11
        case .textOnly, .tooLong, .recipientKey: 65
        case .noProfile, .noWhisperID, .noRSAKey: 10
        case .noChat, .severalChats, .publicChannel, .secretID, .noForm, .memberCount,
            .duplicateMember, .field:
            64
        }
    }
}
