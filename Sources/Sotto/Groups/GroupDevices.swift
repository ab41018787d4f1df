/// The effect of the lists of devices in a log on the changes that devices signed. The member's own key needs no list.
///
/// A change counts if the last list before it names the device, and no later list that is not after it leaves the device out.
/// A device that the last list before the change calls new has at most the power of a member. sotto-formats(5), GROUPS.
struct GroupDevices: Sendable {
    private struct List: Sendable {
        let change: Int
        let seq: Int64
        let states: [Int: DeviceList.State]
    }

    /// The changes that do not count.
    private(set) var isVoid = ChangeSet()
    /// The changes of devices that were new.
    private(set) var isNew = ChangeSet()
    /// The lists of each member, by the member's number.
    private var lists: [Int: [List]] = [:]

    init(_ log: GroupRules) {
        for (number, change) in log.changes.enumerated() {
            guard case .devices(let seq, let states) = change.act else { continue }
            lists[change.author, default: []].append(
                List(change: number, seq: seq, states: states))
        }
        for (number, change) in log.changes.enumerated() where change.device > 0 {
            let past = log.graph.ancestors[number]
            let state = state(of: change.device, of: change.author, after: past) {
                log.graph.isBefore(number, $0)
            }
            switch state {
            case .full: break
            case .new: isNew.insert(number)
            case nil: isVoid.insert(number)
            }
        }
    }

    /// Returns the state of a member's device for a change or a message; `nil` if it does not count. `past` are the changes before
    /// it, and `isAfter` says which are after it.
    func state(
        of device: Int, of member: Int, after past: ChangeSet,
        isAfter: (Int) -> Bool = { _ in false }
    ) -> DeviceList.State? {
        let lists = lists[member] ?? []
        let known = lists.filter { past.contains($0.change) }
        guard let seq = known.map(\.seq).max() else { return nil }
        let isLeftOut = lists.contains {
            $0.seq > seq && !isAfter($0.change) && $0.states[device] == nil
        }
        // Two lists with one number prove a fork: each must name the device.
        let states = known.filter { $0.seq == seq }.map { $0.states[device] }
        guard !isLeftOut, !states.contains(nil) else { return nil }
        return states.contains(.new) ? .new : .full
    }
}
