import SottoBytes
import SottoDatabase
import SottoDatabaseReports
public import SottoProgram
public import SottoState

extension StateError: FailureError {
    /// The report.
    public var failure: Failure {
        switch self {
        case .database(.damaged(let path)):
            Failure(
                .ioError, DatabaseError.damaged(path: path).failure.message, hint: Self.lostHint)
        case .database(let error): error.failure
        case .noHome:
            Failure(
                .configuration, "no directory for the state: HOME is not set",
                hint: "set the environment variable SOTTO_HOME to a directory")
        case .notUTF8(let variable): .notUTF8(variable: variable)
        case .notPrivate(let path):
            Failure(
                .permission, "the state directory \(path) is accessible to other users",
                hint: "chmod 700 \(shellWord(path))")
        case .shared(let path):
            Failure(
                .permission, "the state directory \(path) is shared with other users",
                hint:
                    "use a directory of your own: export SOTTO_HOME=\(shellWord(path + "/sotto-state"))"
            )
        case .unsealable(let path):
            Failure(
                .ioError, "a record in \(path) cannot be decrypted with this identity",
                hint: "restore a backup; if it is a contact, remove it and add it again")
        case .damagedGroup(let id, let path):
            Failure(
                .ioError, "the group \(id) cannot be read: its changes in \(path) are damaged",
                hint: "restore a backup; the other groups are not concerned")
        case .unknownItem(let id):
            Failure(
                .ioError, "the item \(id) in the outbox is of an unknown kind",
                hint: "delete it: sotto send --drop \(shellWord(id))")
        }
    }

    private static let lostHint =
        "restore a backup, or move it away; a new one is then created without sessions, contacts and messages"
}

extension StateDamage {
    /// Prints a note about the rows to stderr.
    @Sendable public static func say(_ damage: StateDamage) {
        let path = CommandLine.arguments.first ?? "sotto"
        Terminal.say("\(path.split(separator: "/").last ?? "sotto"): note: \(damage.note)")
    }

    private var note: String {
        let (one, several) = kind.names
        return count == 1
            ? "\(one) in \(path) cannot be read and is \(kind.isDropped ? "deleted" : "left out")"
            : "\(count) \(several) in \(path) cannot be read and are \(kind.isDropped ? "deleted" : "left out")"
    }
}

extension StateDamage.Kind {
    /// One row, and several.
    fileprivate var names: (one: String, several: String) {
        switch self {
        case .contact: ("a contact", "contacts")
        case .conversation:
            ("the settings of a conversation", "conversations' settings")
        case .message: ("a message", "messages")
        case .reader: ("a reader of the history", "readers of the history")
        case .request: ("a message request", "message requests")
        case .session: ("a session", "sessions")
        case .skippedKey: ("the key of a late message", "keys of late messages")
        case .preKey: ("a prekey", "prekeys")
        case .bundle: ("a bundle of prekeys", "bundles of prekeys")
        case .group: ("a group", "groups")
        case .waitingChange:
            ("a waiting change of a group", "waiting changes of groups")
        case .member: ("the note about a member of a group", "notes about members of groups")
        case .ownChain: ("the own key chain of a group", "own key chains of groups")
        case .chain: ("the key chain of a member of a group", "key chains of members of groups")
        case .heldMessage:
            ("a waiting message of a group", "waiting messages of groups")
        case .room: ("the set of keys of a room", "sets of keys of rooms")
        case .file:
            ("the pointer to a file of a group", "pointers to files of groups")
        }
    }
}

extension GroupError: FailureError {
    /// The report.
    package var failure: Failure {
        switch self {
        case .unknown: Failure(.noInput, "the group is not in this state")
        case .tooMany:
            Failure(
                .tryAgain, "the state has its most groups: \(StateTransaction.mostGroups)",
                hint: "delete one that you left or did not enter: sotto group forget GROUP")
        case .tooManyInvitations:
            Failure(
                .untrusted,
                "the sender has \(StateTransaction.mostInvitations) invitations here that are not answered; this one is dropped",
                hint: "accept or decline them: sotto group list")
        case .refused: Failure(.untrusted, "the rules of the group do not permit it")
        case .notMember: Failure(.untrusted, "you are not a member of the group")
        case .member: Failure(.no, "you are a member of the group already")
        case .closed:
            Failure(
                .untrusted, "the door of the room is closed",
                hint: "ask a member for an invitation or for the new phrase")
        case .mayNotPost:
            Failure(.untrusted, "your rank in the group does not permit messages")
        case .doubtful(let id):
            Failure(
                .tryAgain,
                "the group \(id) comes from a backup, which can lack changes, and its members have not confirmed it",
                hint:
                    "ask members, and decrypt the answer: sotto group sync \(id) | sotto encrypt | sotto send"
            )
        }
    }
}

extension SessionError: FailureError {
    /// The report.
    public var failure: Failure {
        switch self {
        case .nothingToSendWith(let peer):
            Failure(
                .noKey, "no session with the recipient, and no prekey bundle to begin one",
                hint: "claim a bundle: sotto recv --bundle \(peer)")
        case .unknownSession:
            Failure(
                .noKey, "the message belongs to a session that is not in this state",
                hint:
                    "this state is new or from a backup; send the sender a message, or ask for a new session"
            )
        case .preKeyGone:
            Failure(
                .noKey, "the message begins a session with a prekey that is not in this state",
                hint:
                    "a repeated message, or this state is new or from a backup; publish new prekeys: sotto keygen prekeys | sotto send"
            )
        case .begunBefore:
            Failure(.replay, "the message begins a session that began before and was deleted")
        case .noSender:
            Failure(
                .malformed, "the envelope does not name its sender, which its suite requires")
        case .notPostQuantum:
            Failure(
                .untrusted, "the bundle has no post-quantum prekey",
                hint:
                    "it may have been removed by an attacker; use --classic to continue without it"
            )
        case .notPairSigned(let peer):
            Failure(
                .untrusted,
                "the bundle has no signature over both prekeys, and an earlier bundle of the recipient had one",
                hint: "an attacker may have changed it; claim another: sotto recv --bundle \(peer)")
        case .noOneTimePreKey:
            Failure(
                .noKey, "the bundle has no one-time prekey",
                hint: "try later, or omit --require-opk")
        case .otherOwner:
            Failure(.untrusted, "the bundle belongs to a different recipient")
        case .bundleUsed:
            Failure(
                .noKey, "the bundle's one-time prekey has begun a session before",
                hint: "claim another bundle with sotto recv --bundle")
        }
    }
}

extension ContactError: FailureError {
    /// The report.
    public var failure: Failure {
        switch self {
        case .nameTaken(let name):
            Failure(
                .cannotCreate, "another contact already has the name \(name)",
                hint:
                    "rename the other contact first: sotto contact rename \(shellWord(name)) \(shellWord(name + "-2"))"
            )
        }
    }
}
