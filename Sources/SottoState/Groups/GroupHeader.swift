package import Sotto

/// A group without its log, which takes longer to read.
package struct GroupHeader: Sendable, Equatable {
    package let id: GroupID
    /// The name, or an empty text.
    package let name: String
    /// The number of members.
    package let memberCount: Int
    /// Whether the owner of the state is a member, and only admins and owners post, so that the others only read.
    package let isAnnouncements: Bool
    /// Whether the owner of the state was a member, or declined the invitation.
    package let isLeft: Bool
    let isDeclined: Bool
    /// ``StoredGroup/question``.
    let question: [UInt8]?
    let isNewcomer: Bool
    /// ``StoredGroup/drawn``.
    let drawn: [KeyID]
    /// ``StoredGroup/isPartial``.
    let isPartial: Bool
    /// ``StoredGroup/showsToNewcomers``.
    let showsToNewcomers: Bool

    private static let declined: UInt8 = 1
    private static let asks: UInt8 = 2
    private static let newcomer: UInt8 = 4
    private static let announcements: UInt8 = 8
    private static let shown: UInt8 = 16
    private static let left: UInt8 = 32
    private static let partial: UInt8 = 64

    init(_ group: StoredGroup) {
        (id, name, isDeclined) = (group.id, group.name, group.isDeclined)
        memberCount = group.state.ranks.count
        let standing = group.standing
        isAnnouncements = standing == .member && group.state.policy.post >= .admin
        isLeft = standing == .left
        (question, isNewcomer, drawn) = (group.question, group.isNewcomer, group.drawn)
        (showsToNewcomers, isPartial) = (group.showsToNewcomers, group.isPartial)
    }

    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let id = reader.bytes(32), let marks = reader.byte(),
            let memberCount = reader.integer(UInt32.self)
        else { return nil }
        var drawn: [KeyID] = []
        if marks & Self.asks != 0 {
            guard let number = reader.bytes(GroupBody.questionBytes),
                let count = reader.integer(UInt16.self)
            else { return nil }
            question = Array(number)
            for _ in 0..<count {
                guard let key = reader.bytes(32) else { return nil }
                drawn.append(KeyID(publicKey: Array(key)))
            }
        } else {
            question = nil
        }
        self.drawn = drawn
        isNewcomer = marks & Self.newcomer != 0
        isAnnouncements = marks & Self.announcements != 0
        showsToNewcomers = marks & Self.shown != 0
        isLeft = marks & Self.left != 0
        isPartial = marks & Self.partial != 0
        self.memberCount = Int(memberCount)
        guard let name = String(validating: reader.remaining, as: UTF8.self) else { return nil }
        self.id = GroupID(Array(id))
        (self.name, isDeclined) = (name, marks & Self.declined != 0)
    }

    /// id (32) ‖ marks (1): 1 for a declined group, 2 for one with ``question``, 4 for a newcomer, 8 for announcements, 16 for
    /// ``showsToNewcomers``, 32 for ``isLeft``, 64 for ``isPartial`` ‖ ``memberCount`` (4) ‖ if it is there, ``question`` (16), the number of ``drawn`` (2) and their public keys (32 each) ‖ name.
    var encoded: [UInt8] {
        let marks =
            (isDeclined ? Self.declined : 0) | (question == nil ? 0 : Self.asks)
            | (isNewcomer ? Self.newcomer : 0) | (isAnnouncements ? Self.announcements : 0)
            | (showsToNewcomers ? Self.shown : 0) | (isLeft ? Self.left : 0)
            | (isPartial ? Self.partial : 0)
        let asked =
            question.map { $0 + UInt16(drawn.count).bigEndianBytes + drawn.flatMap(\.publicKey) }
        return id.bytes + [marks] + UInt32(memberCount).bigEndianBytes + (asked ?? [])
            + Array(name.utf8)
    }
}
