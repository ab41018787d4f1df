public import Sotto
import SottoDatabase

/// The last list of devices of each person, and that of the owner.
extension StateTransaction {
    /// The result of a list of devices that arrived.
    public enum TakenDevices: Sendable, Equatable {
        /// The list is kept. `before` is the one that it replaced.
        case kept(before: DeviceList?)
        /// The list was known.
        case known
        /// A later list is known.
        case older
        /// Another list with the same number is known and stays. An attacker has the person's identity.
        case fork
    }

    /// Returns the last list of devices of a person or of the owner; `nil` if none is known.
    public func devices(of person: KeyID) throws(StateError) -> DeviceList? {
        guard try hasDevices() else { return nil }
        if let known = deviceLists[person] { return known }
        let mark = store.mark(person)
        let found = try connection.first("SELECT sealed FROM device_list WHERE peer = ?", mark) {
            row throws(StateError) -> DeviceList? in
            let sealed = row.bytes(0)
            // Without the owner's own list, the next one would leave devices out.
            guard person != owner.id else { return try deviceList(sealed, mark) }
            return try store.readable(.deviceList, mark) { () throws(StateError) in
                try deviceList(sealed, mark)
            }
        }
        let list = found ?? nil
        deviceLists[person] = .some(list)
        return list
    }

    /// Returns the person of whom a device is that is not the first one; `nil` if no list names the device.
    public func person(ofDevice device: KeyID) throws(StateError) -> KeyID? {
        guard try hasDevices() else { return nil }
        if let known = devicePeople[device] { return known }
        let found = try person(ofDevice: device, isRemoved: false)
        devicePeople[device] = .some(found)
        return found
    }

    /// Returns the person who removed a device from the list; `nil` for another one.
    public func person(ofRemovedDevice device: KeyID) throws(StateError) -> KeyID? {
        try hasDevices() ? person(ofDevice: device, isRemoved: true) : nil
    }

    private func person(
        ofDevice device: KeyID, isRemoved: Bool
    ) throws(StateError) -> KeyID? {
        let found = try connection.first(
            """
            SELECT l.sealed, l.peer FROM device d JOIN device_list l ON l.peer = d.peer
            WHERE d.mark = ? AND d.removed = ?
            """, store.mark(device), isRemoved
        ) { row throws(StateError) -> KeyID? in
            let (sealed, mark) = (row.bytes(0), row.bytes(1))
            return try store.readable(.deviceList, mark) { () throws(StateError) in
                try deviceList(sealed, mark).owner
            }
        }
        return found ?? nil
    }

    /// The most removed devices of a person that are known.
    private static let removedDevices: Int64 = 256

    /// Keeps a list of devices, unless a later one is known.
    @discardableResult
    public func keep(_ list: DeviceList) throws(StateError) -> TakenDevices {
        let known = try devices(of: list.owner)
        guard list.supersedes(known) else {
            guard let known else { return .older }
            if list.isFork(of: known) { return .fork }
            return list.seq == known.seq ? .known : .older
        }
        let mark = store.mark(list.owner)
        // A list can come without the owner's card, such as in a group. The card that another device gives out stays.
        let card = list.owner == owner.owner ? try ownersCard()?.record : nil
        let stored = JSONObject([
            ("list", .object(list.record)), ("card", card.map { .object($0) }),
        ])
        try connection.run(
            """
            INSERT INTO device_list (peer, sealed) VALUES (?, ?)
            ON CONFLICT (peer) DO UPDATE SET sealed = excluded.sealed
            """, mark, store.seal(stored.serialized(), .deviceList(peer: mark)))
        try connection.run("UPDATE device SET removed = 1 WHERE peer = ?", mark)
        for device in list.devices {
            // A device can have been of another person before.
            try connection.run(
                "INSERT OR REPLACE INTO device (mark, peer, removed) VALUES (?, ?, 0)",
                store.mark(device.id), mark)
        }
        let removed = try connection.integer(
            "SELECT count(*) FROM device WHERE peer = ? AND removed = 1", mark)
        if removed > Self.removedDevices {
            try connection.run(
                """
                DELETE FROM device WHERE mark IN
                    (SELECT mark FROM device WHERE peer = ? AND removed = 1 LIMIT ?)
                """, mark, removed - Self.removedDevices)
        }
        deviceLists[list.owner] = .some(list)
        devicePeople = [:]
        hasDeviceLists = true
        if list.owner == owner.id { try noteOwnDevices(list) }
        return .kept(before: known)
    }

    /// Keeps the card of the person whose device this is, unless a later one is known. Returns `false` if it is not kept.
    @discardableResult
    public func keep(ownersCard card: Card) throws(StateError) -> Bool {
        guard owner.owner == card.id, let record = card.record, let list = card.devices,
            let issued = card.issued
        else { return false }
        // The number of the list decides: the clock of machine one can have been set back since.
        if let known = try ownersCard(), let before = known.issued,
            before.seconds >= issued.seconds, !list.supersedes(known.devices)
        {
            return false
        }
        switch try keep(list) {
        case .older, .fork: return false
        case .kept, .known: break
        }
        let mark = store.mark(card.id)
        let own = JSONObject([("list", .object(list.record)), ("card", .object(record))])
        try connection.run(
            "UPDATE device_list SET sealed = ? WHERE peer = ?",
            store.seal(own.serialized(), .deviceList(peer: mark)), mark)
        return true
    }

    /// Takes the owner's card that another own device sent, like ``keep(ownersCard:)``. The first device signs the lists itself, so it
    /// takes one only if its state is new or restored. Returns `false` if the card is not taken.
    package func takeOwnList(on card: Card) throws(StateError) -> Bool {
        guard owner.owner == nil else { return try keep(ownersCard: card) }
        guard card.id == owner.id, let list = card.devices, try newState() != nil else {
            return false
        }
        switch try keep(list) {
        case .kept, .known: return true
        case .older, .fork: return false
        }
    }

    /// Returns the card of the person whose device this is; `nil` on the first device.
    func ownersCard() throws(StateError) -> Card? {
        guard let owner = owner.owner, try hasDevices() else { return nil }
        let mark = store.mark(owner)
        return try connection.first("SELECT sealed FROM device_list WHERE peer = ?", mark) {
            row throws(StateError) -> Card? in
            try stored(row.bytes(0), mark)["card"]?.object.flatMap { try? Card(stored: $0) }
        } ?? nil
    }

    /// Returns the card that others get of the owner, with the list of devices that they may know. `address` is the address of its
    /// only holder, who learns of no devices: their mailboxes would link the holder's card with others.
    ///
    /// Another device than the first one has only the last card that it got. Throws ``StateError/privateDevices`` there if that has a
    /// private list.
    public func ownCard(
        address: SendAddress? = nil, issued: Timestamp? = nil
    ) throws(StateError) -> Card {
        if owner.owner != nil {
            guard try !handsOver() else { throw .privateDevices }
            return try cardForDevices()
        }
        return owner.card(
            address: address, issued: issued, devices: address == nil ? try shownDevices() : nil)
    }

    /// Returns the card that members of groups get, or `nil` on a device that gives out none.
    func cardForMembers(issued: Timestamp) throws(StateError) -> Card? {
        do throws(StateError) {
            return try ownCard(issued: issued)
        } catch .privateDevices, .noOwnersCard {
            return nil
        } catch {
            throw error
        }
    }

    /// Returns the card that the owner's devices get, with the list of devices, also with a private one.
    ///
    /// Another device than the first one has only the last card that it got. Throws ``StateError/noOwnersCard`` before the first one.
    public func cardForDevices(issued: Timestamp? = nil) throws(StateError) -> Card {
        guard owner.owner != nil else {
            return owner.card(issued: issued, devices: try devices(of: owner.id))
        }
        guard let card = try ownersCard() else { throw .noOwnersCard }
        return card
    }

    /// Returns the owner's list of devices that others get: in place of a private list the one without devices, or `nil`. Call it on
    /// the first device.
    func shownDevices() throws(StateError) -> DeviceList? {
        let list = try devices(of: owner.id)
        guard let number = list?.shown else { return list }
        return number == 0 ? nil : try? DeviceList(shown: number, by: owner)
    }

    private static let directoryName = "list in the directory"

    /// Whether the list can be unknown here: the state is new, and was not compared with the card in the relay's directory.
    package func mayLackList() throws(StateError) -> Bool {
        guard owner.owner == nil, owner.relay != nil, try devices(of: owner.id) == nil,
            try remembered(Self.directoryName) == nil
        else { return false }
        return try newState() != nil
    }

    /// Returns the number of the owner's list that others get, if it is not known that the relay's directory has it; `nil` on
    /// another device than the first one, and without a list in a state that is not new. Without a list the number is 0.
    package func unpublishedList() throws(StateError) -> Int64? {
        guard owner.owner == nil else { return nil }
        if try mayLackList() { return 0 }
        guard try devices(of: owner.id) != nil else { return nil }
        let number = try shownDevices()?.seq ?? 0
        return try remembered(Self.directoryName) == number ? nil : number
    }

    /// Notes that the relay's directory has the list with a number, or has no card of the owner.
    package func noteDirectory(list number: Int64) throws(StateError) {
        try remember(Self.directoryName, number)
    }

    /// Whether this is another device than the first one, on a private list: the first one sends what is written here.
    public func handsOver() throws(StateError) -> Bool {
        guard owner.owner != nil else { return false }
        return try devices(of: owner.id)?.isPrivate ?? false
    }

    /// Whether a list is stored: without one, nothing about devices is read.
    func hasDevices() throws(StateError) -> Bool {
        if let hasDeviceLists { return hasDeviceLists }
        let found = try connection.exists("SELECT 1 FROM device_list LIMIT 1")
        hasDeviceLists = found
        return found
    }

    private func deviceList(_ sealed: [UInt8], _ mark: [UInt8]) throws(StateError) -> DeviceList {
        guard let record = try stored(sealed, mark)["list"]?.object,
            let list = try? DeviceList(stored: record)
        else { throw .unsealable(path: store.database.path) }
        return list
    }

    private func stored(_ sealed: [UInt8], _ mark: [UInt8]) throws(StateError) -> JSONObject {
        let bytes = try store.unseal(sealed, .deviceList(peer: mark))
        guard let record = try? JSON.object(parsing: bytes) else {
            throw .unsealable(path: store.database.path)
        }
        return record
    }
}

extension IdentityStore {
    /// Returns whether the state of an identity on this machine knows that the identity is revoked.
    public static func isRevoked(_ identity: Identity, lockTimeout: Double) throws -> Bool {
        guard let directory = try StateDirectory.existing(),
            let store = try existing(
                in: directory, identity: identity, lockTimeout: lockTimeout)
        else { return false }
        return try store.preview { try $0.isRevoked(identity.id) }
    }

    /// Returns the card that others get of an identity. The list of devices is that of the identity's state on this machine; without
    /// a state the card is without a list.
    public static func ownCard(
        of identity: Identity, relay: String? = nil, issued: Timestamp, lockTimeout: Double
    ) throws -> Card {
        guard let directory = try StateDirectory.existing(),
            let store = try existing(
                in: directory, identity: identity, lockTimeout: lockTimeout)
        else { return identity.card(relay: relay, issued: issued) }
        return try store.preview { transaction in
            guard identity.owner == nil else { return try transaction.ownCard() }
            return identity.card(
                relay: relay, issued: issued, devices: try transaction.shownDevices())
        }
    }
}
