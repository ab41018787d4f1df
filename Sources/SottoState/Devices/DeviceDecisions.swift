public import Sotto
import SottoDatabase

/// The owner's decisions about the own devices. Only the first device signs lists.
extension StateTransaction {
    /// Seconds after which a device becomes full, unless another device objects.
    public static let deviceWait: Int64 = 86_400

    /// Signs a list of the owner's devices, and keeps it. The sessions with devices that are not on it end. Without `isPrivate` the
    /// list is private if the one before it was. Others who had a list get one without devices in place of the first private one.
    ///
    /// Throws ``DeviceListError``.
    @discardableResult
    public func sign(
        devices: [DeviceList.Device], isPrivate: Bool? = nil, at time: Timestamp = .now()
    ) throws -> DeviceList {
        let before = try self.devices(of: owner.id)
        var (last, shown) = (before?.seq ?? 0, before?.shown)
        switch isPrivate {
        case true? where shown == nil:
            let number = before == nil ? 0 : max(last + 1, time.seconds)
            (last, shown) = (number, number)
        case false?: shown = nil
        default: break
        }
        let list = try DeviceList(devices, after: last, shown: shown, by: owner, at: time)
        try keep(list)
        for device in before?.devices ?? [] where list.device(device.id) == nil {
            try retireSessions(with: device.id)
            try forgetDecisions(about: device.id)
        }
        return list
    }

    /// Makes the new devices full that another device confirmed, or that were added ``deviceWait`` seconds ago without an objection.
    /// Returns them. On another device than the first one it does nothing.
    public func settleDevices(at now: Timestamp = .now()) throws -> [DeviceList.Device] {
        guard owner.owner == nil, let list = try devices(of: owner.id) else { return [] }
        var settled: [DeviceList.Device] = []
        let devices = try list.devices.map { device in
            guard try isDue(device, at: now) else { return device }
            var full = device
            full.state = .full
            settled.append(full)
            return full
        }
        if !settled.isEmpty { try sign(devices: devices, at: now) }
        return settled
    }

    private func isDue(
        _ device: DeviceList.Device, at now: Timestamp
    ) throws(StateError) -> Bool {
        guard device.state == .new, try !hasObjection(to: device.id) else { return false }
        return try note(.deviceConfirmed, mark: store.mark(device.id)) != nil
            || now.seconds - device.added.seconds >= Self.deviceWait
    }

    /// A decision of one own device about another one.
    public enum DeviceDecision: String, Sendable {
        /// The device is the owner's.
        case confirms
        /// The device shall stay new.
        case objects
    }

    /// Notes a decision of an own device about another one. Returns whether it counts: both are on the list, and a device that is
    /// new itself confirms nothing. `nil` is the first device.
    @discardableResult
    public func take(
        _ decision: DeviceDecision, about device: KeyID, by other: KeyID?
    ) throws(StateError) -> Bool {
        guard let list = try devices(of: owner.id), list.device(device)?.state == .new,
            device != other
        else { return false }
        let author = other.flatMap { list.device($0) }
        guard other == nil || author != nil else { return false }
        let mark = store.mark(device)
        switch decision {
        case .confirms:
            guard author?.state != .new else { return false }
            try setNote(.deviceConfirmed, mark: mark, to: Timestamp.now().seconds)
        case .objects: try setNote(.deviceObjected, mark: mark, to: Timestamp.now().seconds)
        }
        return true
    }

    /// Whether an own device objected to another one. It stays new until the owner decides.
    public func hasObjection(to device: KeyID) throws(StateError) -> Bool {
        try note(.deviceObjected, mark: store.mark(device)) != nil
    }

    /// Forgets what own devices said about a device.
    public func forgetDecisions(about device: KeyID) throws(StateError) {
        for kind in [PeerNote.deviceConfirmed, .deviceObjected] {
            try removeNote(kind, mark: store.mark(device))
        }
    }
}

/// The lists of other people.
extension StateTransaction {
    /// Keeps the list of devices of a contact like ``keep(_:)``, and says in the conversation what changed. The sessions with removed
    /// devices end. A new device ends that messages are sent again without a question. A second list with one number gives one
    /// event.
    @discardableResult
    public func take(devices list: DeviceList) throws(StateError) -> TakenDevices {
        let taken = try keep(list)
        guard list.owner != owner.id else { return taken }
        switch taken {
        case .known, .older: break
        case .fork:
            let mark = store.mark(list.owner)
            guard try note(.deviceFork, mark: mark) != list.seq else { break }
            try setNote(.deviceFork, mark: mark, to: list.seq)
            try recordSystem(.deviceFork, about: list.owner)
        case .kept(let before):
            let added = list.devices.filter { before?.device($0.id) == nil }
            for device in added { try record(.deviceAdded, device, of: list.owner) }
            if !added.isEmpty { try endRepeats(to: list.owner) }
            for device in before?.devices ?? [] where list.device(device.id) == nil {
                try retireSessions(with: device.id)
                try record(.deviceRemoved, device, of: list.owner)
            }
        }
        return taken
    }

    private func record(
        _ event: SystemEvent, _ device: DeviceList.Device, of person: KeyID
    ) throws(StateError) {
        try recordSystem(
            event, about: person,
            members: [
                ("device", .string(device.id.description)), ("name", .string(device.name)),
                (
                    "since",
                    event == .deviceAdded ? .string(device.added.description) : nil
                ),
            ])
    }
}
