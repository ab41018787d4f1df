import Sotto
import SottoDatabase

/// The changes that the owner tells the members of a group, and the notes about the members.
package struct GroupDues {
    let group: StoredGroup
    let time: Timestamp
    /// The notes about members.
    let notes: [KeyID: GroupMemberNote]
    /// The owner's changes, and the joins of people whom the owner invited or let in.
    let told: [GroupChange]
    /// Their places in the log.
    let toldPlaces: [Int64]
    /// The place of the last of them, or 0.
    let lastTold: Int64
    /// The keys of the room, if the owner is a moderator and has them.
    let room: RoomKeys?
    /// The marks of the owner's cards.
    let ownCard: OwnCard
    /// The owner's card with its date, if a member lacks it.
    let newCard: Card?
    let backlogs = GroupBacklogs()
    /// The messages that the owner asks members for.
    var messageRequests: [KeyID: [String]] = [:]
    /// The members whom the owner asks for their chains.
    var chainRequests: Set<KeyID> = []
    /// The people whom the owner asks for the heads of their logs.
    var headsRequests: Set<KeyID> = []
    /// The changes of other people for which the owner asks a person, because those did not answer.
    var changeRequests: [KeyID: [GroupID]] = [:]

    func note(of id: KeyID) -> GroupMemberNote { notes[id] ?? GroupMemberNote(id: id) }

    /// Returns the signed cards of the people who enter the group with some changes.
    func cards(ofNewcomersIn changes: [GroupChange]) -> [[UInt8]] {
        changes.filter { $0.act.isEntry && $0.by != group.owner }.compactMap {
            notes[$0.by]?.cardBytes
        }.filter { !$0.isEmpty }
    }

    /// Whether the owner is a member.
    var isMember: Bool { group.rank > .nobody }

    /// Returns the changes that a person asked for and gets now. They are limited in number for each hour.
    func answers(to note: GroupMemberNote) -> Set<GroupID> {
        Set(note.wanted.prefix(note.answers.changesLeft(at: time)))
    }

    /// Returns the bodies with the answer to a person's question for heads.
    func answering(_ note: GroupMemberNote, with bodies: [GroupBody]) -> [GroupBody] {
        // The owner's own heads are not known for certain.
        guard let question = note.headsQuestion, !group.isDoubtful else { return bodies }
        var answered = bodies
        answered.add(to: group.id) {
            ($0.headsAnswer, $0.heads) = (question, group.heads(for: note.id))
        }
        return answered
    }
}

extension [GroupBody] {
    /// Adds something to the last body, or to a further one if the last one would be too long for a message.
    mutating func add(to group: GroupID, _ add: (inout GroupBody) -> Void) {
        if var body = last {
            add(&body)
            if body.fits {
                self[count - 1] = body
                return
            }
        }
        var body = GroupBody(group)
        add(&body)
        append(body)
    }
}
