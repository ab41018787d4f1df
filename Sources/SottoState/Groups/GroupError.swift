package import Sotto

/// A reason why a group cannot be changed or used.
package enum GroupError: Error, Sendable, Equatable {
    /// The state has no such group.
    case unknown
    /// The state has too many groups.
    case tooMany
    /// The sender has too many invitations that are not answered.
    case tooManyInvitations
    /// The rules of the group refuse the change.
    case refused
    /// The rules of the group refuse a message of a member.
    case refusedMessage(author: String, group: String)
    /// The owner is not a member.
    case notMember
    /// The owner is a member already.
    case member
    /// The door of the room is closed.
    case closed
    /// The owner's rank is too low to write messages.
    case mayNotPost
    /// Only the first device, which has the identity, can do it.
    case firstDevice
    /// The group was restored, and no member has confirmed it.
    case doubtful(id: String)
    /// The log of the group does not name this device of the owner yet, so that members refuse what it writes.
    case unlisted(id: String)
}

extension GroupError {
    /// Whether a message that is refused for this reason is refused for good.
    package var isFinal: Bool {
        switch self {
        case .refused, .refusedMessage, .tooManyInvitations: true
        default: false
        }
    }
}

extension GroupError: FailureError {
    /// The message, the hint and the exit status.
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
        case .refusedMessage(let author, let group):
            Failure(
                .untrusted, "the rules of \(group) do not permit a message of \(author)",
                hint:
                    "others can have it, if it was written before a change of the rules, the members or the devices; ask the author to write it again"
            )
        case .notMember: Failure(.untrusted, "you are not a member of the group")
        case .member: Failure(.no, "you are a member of the group already")
        case .closed:
            Failure(
                .untrusted, "the door of the room is closed",
                hint: "ask a member for an invitation or for the new phrase")
        case .mayNotPost:
            Failure(.untrusted, "your rank in the group does not permit messages")
        case .firstDevice:
            Failure(
                .untrusted, "only machine one, which has the identity itself, can do this",
                hint: "run the command there")
        case .unlisted(let id):
            Failure(
                .tryAgain, "the members of the group \(id) do not know this device",
                hint: "run on machine one, and then read the mail here: sotto group sync --send")
        case .doubtful(let id):
            Failure(
                .tryAgain,
                "the group \(id) was restored and can lack changes, and its members have not confirmed it",
                hint:
                    "ask members, and decrypt the answer: sotto group sync \(id) | sotto encrypt | sotto send"
            )
        }
    }
}
