import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Messages of devices: of those of other people, and of the owner's own.
extension MessageOpening {
    /// Puts the person in place of the device that sent a message, as a list of devices says: a known one, or the one on the card of
    /// the person that the message carries. A device that is on no list stays what it is.
    ///
    /// Throws a failure with status 12 for a device that was removed, and for a list that is older than the known one.
    func takeDevice(
        of message: inout Message, _ transaction: StateTransaction
    ) throws {
        guard message.authenticated, message.legacy == nil, let sender = message.from else {
            return
        }
        let owner = transaction.owner
        if message.to == owner.device { message.to = owner.id }
        guard sender != owner.id else { return }
        let known = try sender == owner.device ? owner.id : transaction.person(ofDevice: sender)
        if let known {
            message.device = sender
            message.from = known
            return
        }
        let card = message.card.flatMap { try? Card(record: $0) }
        guard let card, card.id != sender, let list = card.devices, list.device(sender) != nil
        else {
            if let person = try transaction.person(ofRemovedDevice: sender) {
                throw try removed(by: person, transaction)
            }
            return
        }
        guard list.supersedes(try transaction.devices(of: card.id)) else {
            throw try removed(by: card.id, transaction)
        }
        if card.id == owner.id {
            // Only the first device signs lists, and the others get them from it or with its card.
            guard try transaction.takeOwnList(on: card) else { throw Failure.foreignList }
        }
        message.device = sender
        message.from = card.id
    }

    /// Returns the error for a message from a device that a person removed.
    private func removed(
        by person: KeyID, _ transaction: StateTransaction
    ) throws(StateError) -> RemovedDeviceError {
        guard person != transaction.owner.id else {
            return RemovedDeviceError(words: "you removed", isOwn: true)
        }
        let name = try transaction.readableContact(id: person)?.name ?? ""
        return RemovedDeviceError(words: "\(name.isEmpty ? "its owner" : name) has removed")
    }

    /// Notes that another device of the owner was heard of.
    func noteHeard(
        _ message: Message, _ transaction: StateTransaction
    ) throws(StateError) {
        let owner = transaction.owner
        guard !isPreview, message.authenticated, message.legacy == nil, message.from == owner.id,
            let time = message.time
        else { return }
        try transaction.noteHeard(of: message.device ?? owner.id, sent: time)
    }

    /// Keeps the owner's card that another device of the owner sent.
    func takeOwnersCard(of message: Message, _ transaction: StateTransaction) throws(StateError) {
        guard message.from == transaction.owner.id,
            let card = message.card.flatMap({ try? Card(record: $0) })
        else { return }
        _ = try transaction.takeOwnList(on: card)
    }

    /// Puts the id of the message in place of that of its copy for this device. Returns the line of a message that is here already, or
    /// was; `nil` for one that is new, and for an envelope that has no copy.
    func open(
        copyIn message: inout Message, _ step: StateTransaction.Step?, _ attempt: Attempt,
        _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        guard let original = message.original, message.authenticated, message.group == nil,
            attempt.envelope != nil
        else { return nil }
        guard Envelope.isID(original), original != attempt.id else {
            return .failed(
                Failure(.malformed, "the member original is not the id of another envelope"),
                id: attempt.id, isFinal: true)
        }
        message.id = original
        let known = try transaction.known(message)
        if case .new = known { return nil }
        if case .different = known { throw Failure.differentContent }
        var line = OpenedLine.dropped
        var number: Int64 = 0
        if case .same(let found, let record) = known {
            number = found
            let (known, verdict) = try senderPolicy.recall(record, transaction)
            if verdict != .blocked { line = .message(known, number: found, seen: true) }
        }
        guard !isPreview else { return line }
        if let step {
            try transaction.keep(step)
            try transaction.take(answer: message)
        }
        try transaction.forgetRequest(id: attempt.id)
        try transaction.noteArrival(ofCopy: attempt.id, attempt.digest, of: number)
        return line
    }

    /// Takes the items in a body `sync`. Returns `nil` for another message. That of anybody but another device of the owner is
    /// refused (12).
    func open(
        syncIn message: Message, _ step: StateTransaction.Step?,
        _ envelope: (id: String, digest: [UInt8]), _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        guard message.body["type"]?.string == SyncBody.type else { return nil }
        let owner = transaction.owner
        let sender = message.device ?? owner.id
        guard message.authenticated, message.from == owner.id, message.legacy == nil,
            sender != owner.device
        else { return .failed(.foreignSync, id: envelope.id, isFinal: true) }
        if isPreview {
            if let step { try transaction.preview(step) }
            return .dropped
        }
        if let step { try transaction.keep(step) }
        try transaction.forgetRequest(id: envelope.id)
        try transaction.noteArrival(ofCopy: envelope.id, envelope.digest, of: 0)
        try takeOwnersCard(of: message, transaction)
        if let time = message.time { try transaction.noteAnswer(of: sender, sent: time) }
        let state =
            sender == owner.id
            ? DeviceList.State.full
            : try transaction.devices(of: owner.id)?.device(sender)?.state ?? .new
        var lines: [OpenedLine] = []
        for item in try SyncBody.items(of: message.body) {
            let line = try caught(envelope.id, item.mapError { $0.failure }, transaction) { item in
                // A later version can have more kinds.
                guard let item else { return .dropped }
                return try take(item, from: sender, state, transaction)
            }
            if case .dropped = line { continue }
            lines.append(line)
        }
        guard let first = lines.first else { return .dropped }
        repeated += lines.dropFirst()
        return first
    }

    private func take(
        _ item: SyncItem, from sender: KeyID, _ state: DeviceList.State,
        _ transaction: StateTransaction
    ) throws -> OpenedLine {
        if case .contact(_, .name(let name)) = item.change, !name.isEmpty {
            guard try ContactName.checked(name) == name else {
                throw SyncError.member("name").failure
            }
        }
        switch try transaction.take(item, from: sender, state) {
        case .taken: return .dropped
        case .received(let message, let number):
            let (known, verdict) = try senderPolicy.recall(message.record, transaction)
            return verdict == .blocked ? .dropped : .message(known, number: number, seen: false)
        case .different: throw Failure.differentOnDevices
        case .refused: throw SyncError.member("items").failure
        }
    }
}

/// A message is from a device that its owner has removed.
struct RemovedDeviceError: FailureError {
    /// Who removed it.
    let words: String
    /// Whether it was a device of the owner.
    var isOwn = false

    var failure: Failure {
        Failure(
            .untrusted, "the message is from a device that \(words)",
            hint: isOwn
                ? "your other devices can have read it before; to list there what it decided: sotto device changes"
                : "if it is not lost, its owner adds it again on machine one")
    }
}

extension Failure {
    fileprivate static let foreignList = Failure(
        .untrusted,
        "the message is from a device on a list that was signed with your identity on another machine"
    )
    fileprivate static let foreignSync = Failure(
        .untrusted, "the message is for the sender's own devices, and is not from one of yours")
    fileprivate static let differentOnDevices = Failure(
        .mismatch, "another device of yours has a message with the same id and other content")
}

extension SyncError {
    fileprivate var failure: Failure {
        switch self {
        case .member(let name):
            Failure(.malformed, "a change of another device has a malformed member \(name)")
        }
    }
}
