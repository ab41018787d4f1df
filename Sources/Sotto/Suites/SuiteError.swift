/// Why a message is not made or opened by a suite without a session.
public enum SuiteError: Error, Sendable, Equatable {
    /// It does not open. What was wrong is not told, for every one of these suites alike: who can have messages opened
    /// and learns why they are refused, learns of keys and texts.
    case refused
    /// The suite carries text alone.
    case textOnly
    /// The message is longer than the suite carries, in bytes.
    case tooLong(limit: Int)
    /// The recipient's keys of the profile are not known.
    case noProfile(Profile)
    /// Our own name in Whisper2 is not known.
    case noWhisperID
    /// We have no RSA key.
    case noRSAKey
    /// No chat was named.
    case noChat
    /// More than one chat was named, and a message is for one.
    case severalChats
    /// Everybody knows the channel's phrase, and that was not asked for.
    case publicChannel
    /// The suite's own form of the record has the chat's key in it, and nobody said that this may be shown.
    case secretID
    /// The suite has no record of this form.
    case noForm
    /// The recipient's key does not work.
    case recipientKey
    /// A group has more members than its messages can have.
    case memberCount(limit: Int)
    /// A member of a group is named twice.
    case duplicateMember
    /// A field of the messenger's record is not of the form that its readers take.
    case field(String)
}

extension SuiteError: ReportableError {
    /// What went wrong.
    public var message: String {
        switch self {
        case .refused: "the message does not open"
        case .textOnly: "the suite carries text alone"
        case .tooLong(let limit): "the message is longer than the suite carries (\(limit) bytes)"
        case .noProfile(let profile): "the recipient's \(profile.rawValue) keys are not known"
        case .noWhisperID: "your WhisperID is not known"
        case .noRSAKey: "the identity has no RSA key"
        case .noChat: "the suite needs a chat"
        case .severalChats: "a message is for one chat"
        case .publicChannel: "everybody can read this channel: nothing in it is confidential"
        case .secretID: "the messenger's own record has the chat's key in it, as its id"
        case .noForm: "the suite has no record of this form"
        case .recipientKey: "the recipient's key is not valid"
        case .memberCount(let limit): "a group's message is for 1 to \(limit) others"
        case .duplicateMember: "a member of the group is named twice"
        case .field(let name): "\(name) is not of the form that the suite takes"
        }
    }

    /// What to do about it.
    public var hint: String? {
        switch self {
        case .refused:
            "it was changed, or the key, the chat or the sender's keys are not the right ones"
        case .textOnly, .severalChats, .recipientKey, .memberCount, .duplicateMember, .field: nil
        case .tooLong: "split it; or make it a file, with -r in place of --to"
        case .noProfile(let profile):
            "their owner makes a card with it: keygen public --include \(profile.rawValue)"
        case .noWhisperID: "give it with --whisper-id WSP-XXXX-XXXX-XXXX"
        case .noRSAKey:
            "make an identity with one from your words: keygen recover --rsa 3072 -o rsa.key"
        case .noChat: "name its file with --chat; to make one: keygen chat -o family.chat"
        case .publicChannel: "to write to it all the same: --public-channel"
        case .secretID: "to write it all the same: --show-secret"
        case .noForm: "leave out --form"
        }
    }

    /// The number of the exit status.
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
