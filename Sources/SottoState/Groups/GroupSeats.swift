package import Sotto

/// A device of a member of a group. Each one gets changes and messages of its own.
package struct GroupSeat: Sendable {
    /// The member.
    package let member: KeyID
    /// The device, which is the member's id for the first one.
    package let device: KeyID
    /// The device's card; `nil` for the first device, whose card is the member's.
    package let card: Card?
}

extension StoredGroup {
    /// The devices of all members that get changes and messages, without this one, those of a member next to each other. A list in the
    /// log names the devices. A device that is new gets nothing of the group.
    package var seats: [GroupSeat] {
        members.flatMap { member in seats(of: member.id) }.filter {
            $0.device != device && isFull($0)
        }
    }

    private func isFull(_ seat: GroupSeat) -> Bool {
        seat.device == seat.member
            || log.devices(of: seat.member)?.device(seat.device)?.state == .full
    }

    /// The present rank of a member for what a device signs: none for a device that the last list leaves out.
    func present(_ member: KeyID, _ device: KeyID) -> GroupRank {
        guard seats(of: member).contains(where: { $0.device == device }) else { return .nobody }
        return state.ranks[member] ?? .nobody
    }

    /// Whether the log names the device that has the state. Members refuse what another one writes.
    package var isListed: Bool { seats(of: owner).contains { $0.device == device } }

    /// Returns the devices of a member, the first one first, also those that are new.
    func seats(of member: KeyID) -> [GroupSeat] {
        [GroupSeat(member: member, device: member, card: nil)]
            + (log.devices(of: member)?.devices ?? []).map {
                GroupSeat(member: member, device: $0.id, card: $0.card)
            }
    }
}

extension GroupDues {
    /// Returns what is known of a device. A further device of the owner lacks the log. One of another member gets the owner's changes
    /// again: the member's first device can have got some of them after it gave the log to the others.
    func note(of seat: GroupSeat) -> GroupMemberNote {
        if let known = notes[seat.device] { return known }
        var note = GroupMemberNote(id: seat.device)
        if seat.member == group.owner {
            note.needsLog = true
        }
        return note
    }
}

extension StateTransaction {
    /// Whether a later list than that in the log leaves a device out. The announcement of a list can come before the change of the
    /// group.
    func wasRemoved(_ seat: GroupSeat, in group: StoredGroup) throws(StateError) -> Bool {
        guard seat.device != seat.member, let list = try devices(of: seat.member) else {
            return false
        }
        return list.device(seat.device) == nil
            && list.supersedes(group.log.devices(of: seat.member))
    }

    /// Puts the owner's list of devices into the log, if it is later than that in the log. Only the first device signs it. A log that
    /// has no space for it stays as it is.
    func writeDevices(
        in group: StoredGroup, at time: Timestamp
    ) throws(StateError) -> StoredGroup {
        guard owner.owner == nil, let list = try shownDevices(), group.rank > .nobody,
            !group.isDoubtful, list.supersedes(group.log.devices(of: owner.id))
        else { return group }
        do {
            return try write(.devices(list), in: group, at: time)
        } catch let error as StateError {
            throw error
        } catch {
            return group
        }
    }
}
