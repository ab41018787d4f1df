package import Sotto
import SottoContacts
package import SottoState
import SottoTool

/// Takes lists of devices, the decisions of own devices, and the contacts for a new own device.
extension MessageOpening {
    /// Returns the line of a body `devices` or `welcome`. What is known is dropped, so that a repeated message changes and prints
    /// nothing.
    func take(
        devices message: Message, id: String, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let isOwn = message.from == transaction.owner.id
        do {
            guard isOwn else { return try take(contactsDevices: message, transaction) }
            return transaction.owner.owner == nil
                ? try take(decision: message, transaction)
                : try take(ownDevices: message, transaction)
        } catch let failure as Failure where failure.status == .untrusted {
            // It stays untrusted: another attempt cannot change it.
            return .failed(failure, id: id, isFinal: true)
        }
    }

    /// Keeps the card with the list of a sender whose request waits for an answer, for the contact.
    func keep(
        cardOf message: Message, id: String, _ transaction: StateTransaction
    ) throws(StateError) {
        guard let sender = message.from, let card = message.carriedCard, card.devices != nil,
            try transaction.hasRequest(from: sender)
        else { return }
        try transaction.forgetCard(of: sender)
        try transaction.keep(card: card, from: sender, id: id)
    }

    /// The list of a contact.
    private func take(
        contactsDevices message: Message, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard let sender = message.from, let card = message.carriedCard,
            let list = card.devices,
            message.body["type"]?.string == DeviceBody.type,
            let contact = try transaction.contact(id: sender), !contact.name.isEmpty,
            contact.hasKeys(of: card)
        else { return .dropped }
        let refusal = try transaction.deviceFailure(of: card)
        let before = try transaction.devices(of: sender)
        if !isPreview {
            try transaction.take(devices: list)
            try transaction.take(answer: message)
        }
        if let refusal { throw refusal }
        return line(of: message, list, before)
    }

    /// A decision of an own device, at the first device.
    private func take(
        decision message: Message, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let decision = [StateTransaction.DeviceDecision.confirms, .objects].lazy.compactMap {
            decision in
            message.body[decision.rawValue]?.string.flatMap { KeyID($0) }.map { (decision, $0) }
        }.first
        guard let (decision, device) = decision,
            message.body["type"]?.string == DeviceBody.type,
            let author = message.sendingDevice
        else { return .dropped }
        var named = message.named(try transaction.devices(of: transaction.owner.id))
        guard !isPreview else { return .message(named, number: nil, seen: false) }
        guard try transaction.take(decision, about: device, by: author) else { return .dropped }
        if try transaction.settleDevices().contains(where: { $0.id == device }) {
            named.body["full"] = .bool(true)
        }
        return .message(named, number: nil, seen: false)
    }

    /// The owner's list, or the owner's contacts, at another device.
    private func take(
        ownDevices message: Message, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let owner = transaction.owner
        var before = try transaction.devices(of: owner.id)
        if let record = message.card, let card = try? Card(record: record),
            card.id == owner.id, let list = card.devices
        {
            if let before, list.isFork(of: before) {
                throw Failure(
                    .untrusted,
                    "your key signed two different lists of devices with one number: an attacker can have your words",
                    hint: "compare the lists on your machines: sotto device list")
            }
            if !isPreview { try transaction.keep(ownersCard: card) }
            if message.body["type"]?.string == DeviceBody.type {
                var line = line(of: message, list, before, of: owner)
                let removed = (before?.devices ?? []).filter { list.device($0.id) == nil }
                let decided = try removed.first { try !transaction.changes(of: $0.id).isEmpty }
                if let decided, case .message(var message, let number, let seen) = line {
                    message.body["decided"] = .string(decided.id.description)
                    line = .message(message, number: number, seen: seen)
                }
                return line
            }
            if list.supersedes(before) { before = list }
        }
        if message.body["confirms"] != nil || message.body["objects"] != nil {
            return .message(message.named(before), number: nil, seen: false)
        }
        guard message.body["type"]?.string == WelcomeBody.type, message.sendingDevice == nil,
            let device = before?.device(owner.device)
        else { return .dropped }
        guard !isPreview else { return .message(message, number: nil, seen: false) }
        let added = try WelcomeBody.take(
            message.body, isFull: device.state == .full, transaction)
        var message = message
        message.body = JSONObject([
            ("type", .string(WelcomeBody.type)), ("added", .integer(Int64(added))),
        ])
        return .message(message, number: nil, seen: false)
    }

    /// The message with what a list changed, or a dropped line. `owner` is the reader, if the list is the reader's own.
    private func line(
        of message: Message, _ list: DeviceList, _ before: DeviceList?, of owner: Identity? = nil
    ) -> OpenedLine {
        guard list.supersedes(before) else { return .dropped }
        func names(_ devices: [DeviceList.Device], notIn other: DeviceList?) -> JSON? {
            let names = devices.filter { other?.device($0.id) == nil }.map { JSON.string($0.name) }
            return names.isEmpty ? nil : .array(names)
        }
        func has(_ list: DeviceList?) -> Bool { owner.flatMap { list?.device($0.device) } != nil }
        var message = message
        message.body = JSONObject([
            ("type", .string(DeviceBody.type)), ("added", names(list.devices, notIn: before)),
            ("removed", names(before?.devices ?? [], notIn: list)),
            ("own", owner == nil ? nil : .bool(true)),
            ("thisDevice", has(before) && !has(list) ? .bool(true) : nil),
        ])
        return .message(message, number: nil, seen: false)
    }
}

/// The body `devices`: the announcement of a list, which the message's card has, or a decision about a device.
package enum DeviceBody {
    /// The type of the body.
    package static let type = MessageBody.Other.devices.rawValue

    /// The announcement.
    package static var announcement: MessageBody { MessageBody(.other(.devices)) }

    /// A decision about an own device, for machine one.
    package static func body(
        _ decision: StateTransaction.DeviceDecision, _ device: KeyID
    ) -> MessageBody {
        MessageBody(
            .other(.devices), extra: [decision.rawValue: .string(device.description)])
    }
}

/// The body `welcome`: contacts for a new own device, `cards` and `names`; with `trust` if the device is full.
package enum WelcomeBody {
    /// The type of the body.
    package static let type = MessageBody.Other.welcome.rawValue
    /// The most bytes of the cards in one message.
    private static let bytes = 24 << 10

    /// Returns the bodies for the contacts. Each can be taken without the others. Contacts without a signed card are left out.
    package static func bodies(_ contacts: [Contact], isFull: Bool) -> [JSONObject] {
        var bodies: [JSONObject] = []
        var (cards, names, trust, length) = ([JSON](), [JSON](), [JSON](), 0)
        func body() -> JSONObject {
            JSONObject([
                ("type", .string(type)), ("cards", .array(cards)), ("names", .array(names)),
                ("trust", isFull ? .array(trust) : nil),
            ])
        }
        for contact in contacts where !contact.name.isEmpty {
            guard let record = contact.card?.record else { continue }
            let bytes = record.serialized().count + contact.name.utf8.count
            if length > 0, length + bytes > Self.bytes {
                bodies.append(body())
                (cards, names, trust, length) = ([], [], [], 0)
            }
            cards.append(.object(record))
            names.append(.string(contact.name))
            trust.append(.string(contact.isBlocked ? "blocked" : contact.trust.rawValue))
            length += bytes
        }
        if !cards.isEmpty { bodies.append(body()) }
        return bodies
    }

    /// Adds the contacts of a body. Returns how many are new. One that cannot be added is left out.
    static func take(
        _ body: JSONObject, isFull: Bool, _ transaction: StateTransaction
    ) throws -> Int {
        let (cards, names) = (body["cards"]?.array ?? [], body["names"]?.array ?? [])
        let trust = isFull ? body["trust"]?.array ?? [] : []
        let reader = ContactImport(isOurs: true, accounts: OpaqueAccounts())
        var added = 0
        for (place, value) in cards.enumerated() {
            guard let record = value.object, let card = try? Card(record: record),
                names.indices.contains(place), let name = names[place].string,
                (try? ContactName.checked(name)) == name
            else { continue }
            let word = trust.indices.contains(place) ? trust[place].string : nil
            var contact = Contact(name: name, id: card.id, card: card)
            if word == Message.Trust.verified.rawValue { contact.trust = .verified }
            contact.isBlocked = word == "blocked"
            if case .added = try reader.take(contact, transaction) {
                added += 1
                continue
            }
            // A device that became full learns the trust in contacts that it had.
            guard word != nil, var known = try transaction.contact(id: card.id),
                known.hasKeys(of: card), known.trust == .trusted
            else { continue }
            (known.trust, known.isBlocked) = (contact.trust, contact.isBlocked)
            try transaction.save(known)
        }
        return added
    }
}

extension Message {
    /// Whether the message is about devices: a list, a decision, or the contacts for a new device.
    var isAboutDevices: Bool {
        [DeviceBody.type, WelcomeBody.type].contains(body["type"]?.string)
    }

    /// Returns the message with the name of the device about which another one decides.
    fileprivate func named(_ list: DeviceList?) -> Message {
        let id = (body["confirms"] ?? body["objects"])?.string.flatMap { KeyID($0) }
        var message = self
        message.body["name"] = id.flatMap { list?.device($0)?.name }.map { .string($0) }
        return message
    }

    /// The device of the sender that wrote the message; `nil` for the first one.
    fileprivate var sendingDevice: KeyID? {
        record["device"]?.string.flatMap { KeyID($0) }
    }
}
