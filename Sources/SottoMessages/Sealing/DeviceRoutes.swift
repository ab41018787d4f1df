import Sotto
import SottoContacts
import SottoState
import SottoTool

/// The other devices of a recipient, each of which gets a copy of a message.
struct DeviceRoutes {
    /// A device with the way to it.
    struct Device {
        /// The name of the recipient with that of the device.
        let name: String
        /// The destination, or the failure of finding it.
        let destination: Result<Destination, Failure>
    }

    /// The number of the list of devices.
    let list: Int64
    /// The devices on it.
    let devices: [Device]
}

extension RecipientDirectory {
    /// Returns the other devices of a person who gets a message; `nil` if none is known, and for the owner and a holder of a card
    /// with a separate address: the mailboxes of devices would link that card with others.
    func devices(
        of destination: Destination, isShort: Bool, _ transaction: StateTransaction?
    ) throws -> DeviceRoutes? {
        guard let person = destination.recipient, !person.isOwn, person.id != own,
            person.card?.address == nil, !usesPhrase, !destination.isHandedOver
        else { return nil }
        let known = try transaction?.devices(of: person.id) ?? person.card?.devices
        let carried = person.card?.devices
        let list = carried.map { $0.supersedes(known) } == true ? carried : known
        guard let list, !list.devices.isEmpty else { return nil }
        return DeviceRoutes(
            list: list.seq,
            devices: try list.devices.map { device in
                DeviceRoutes.Device(
                    name: "\(person.name) (\(device.name))",
                    destination: try result {
                        try self.device(
                            device.card, suite: person.contact?.suite, isShort: isShort,
                            transaction)
                    })
            })
    }

    /// Returns the destination of what a device of a member of a group gets. That of an own device is found like that of other data
    /// for it: the group has no card of the owner.
    func destination(
        of seat: GroupSeat, _ person: Correspondent, _ relays: ListedRelays,
        _ transaction: StateTransaction
    ) throws -> Destination {
        guard person.isOwn, let device = try ownDevice(seat.device) else {
            return try member(person, relays, transaction)
        }
        return try self.device(device.card, suite: nil, isShort: false, transaction)
    }
}

extension RoutePlan {
    /// Returns the suite for a device: a session if one exists or can begin, else `sealed`. `setting` is that of its owner.
    func suite(
        ofDevice device: KeyID, setting: Suite?, in book: AddressBook, isShort: Bool
    ) throws -> Suite {
        if isShort || setting == .sealed { return .sealed }
        var isRequired = false
        switch method {
        case .sealed, .phrase: return .sealed
        case .ratchet: isRequired = true
        case .best: break
        }
        let isNew = sessions.requires(device)
        let best = try book.view { state -> Suite in
            if !isNew, try state.hasSession(with: device) { return .ratchet }
            let bundle = try state.freshBundle(of: device)
            return bundle?.pqSignedPreKey == nil ? .sealed : .ratchet
        }
        return isRequired ? .ratchet : best ?? .sealed
    }
}

/// The items that the owner's other devices lack. They go with the envelopes of a run.
extension Recipients {
    /// The most bodies for a device in a run.
    private static let mostBodies = 64
    /// The bytes that remain for the id, the time and other members without the items.
    private static let otherMembers = 512

    /// Returns the lines of the envelopes with what other devices of the owner lack.
    func dueLines(_ transaction: StateTransaction) throws -> [[UInt8]] {
        guard let directory, !isHandedOn else { return [] }
        var lines = try handedOverLines(directory, transaction)
        guard try transaction.hasOtherDevices() else { return lines }
        try transaction.settleTold()
        for device in try transaction.otherDevices() {
            for _ in 0..<Self.mostBodies {
                guard let due = try transaction.dueItems(for: device) else { break }
                let bytes = due.items.reduce(0) { $0 + $1.serialized().count }
                // A message can be gone. One of nearly the greatest length stays on the device that wrote it.
                guard bytes > 0, bytes + Self.otherMembers <= Sealed.recordLimit else {
                    try transaction.noteTold(due, to: device, in: nil)
                    continue
                }
                let sealed = try result {
                    try seal(due.items, bytes, for: device, directory, transaction)
                }
                guard case .success(let (envelope, line)) = sealed else {
                    if case .failure(let failure) = sealed {
                        directory.warn(
                            "your device \(device.name ?? "that made the list") is not told what changed: \(failure.message)"
                        )
                    }
                    break
                }
                try transaction.noteTold(due, to: device, in: envelope)
                lines.append(line.serialized())
            }
        }
        return lines
    }

    /// Returns the lines of the messages that other devices wrote and this one has to send. One that cannot be sent waits.
    private func handedOverLines(
        _ directory: RecipientDirectory, _ transaction: StateTransaction
    ) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for entry in try transaction.handedOver() {
            guard let message = Message(record: entry.record), let to = message.to else { continue }
            let sealed = try result {
                let person = try directory.person(named: to.description)
                let destination = try directory.destination(person, isShort: false, transaction)
                var job = Job(
                    message: MessageText(
                        body: message.body, extra: Message.extra(of: message.record)),
                    ttl: nil, destinations: [destination], upload: nil, composed: nil)
                job.handedOver = (message.id, message.time ?? .now())
                return try plan(job, transaction).encrypted(keys, store)
            }
            switch sealed {
            case .success(let encrypted):
                for (message, copies) in encrypted.copies {
                    try transaction.noteCopies(copies, of: message)
                }
                for (name, failure) in encrypted.failures { directory.noteFailed(name, failure) }
                try transaction.noteSent(handedOver: entry)
                lines += encrypted.lines
            case .failure(let failure):
                directory.warn(
                    "a message that another device of yours wrote is not sent: \(failure.message)")
            }
        }
        return lines
    }

    private func seal(
        _ items: [JSONObject], _ bytes: Int, for device: OwnDevice,
        _ directory: RecipientDirectory,
        _ transaction: StateTransaction
    ) throws -> (envelope: String, line: JSONObject) {
        let destination = try directory.device(
            device.card, suite: nil, isShort: false, transaction)
        var extra: [(name: String, value: JSON)] = []
        if try transaction.lacksCard(device.id) {
            let card = try transaction.cardForDevices(issued: .now())
            if let record = card.record,
                record.serialized().count + bytes + Self.otherMembers <= Sealed.recordLimit
            {
                extra.append(("card", .object(record)))
                try transaction.countCard(for: device.id)
            }
        }
        let draft = Draft(body: SyncBody.body(items), extra: extra)
        let envelope = try plan(draft, destination.route, transaction).envelope(keys)
        return (envelope.id, destination.line(envelope))
    }
}
