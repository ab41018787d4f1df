import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Takes the news that a contact lost a state.
extension MessageOpening {
    /// Returns the line of a body `repair` whose session step is kept. That of a stranger, of an unproven sender, and one that is not
    /// news, is dropped.
    func take(
        repair message: Message, isAccepted: Bool, _ envelope: (id: String, digest: [UInt8]),
        _ transaction: StateTransaction
    ) throws -> OpenedLine {
        if isAccepted, message.authenticated, message.from == transaction.owner.id {
            let device = message.device ?? transaction.owner.id
            guard !isPreview, let body = try transaction.takeRepair(fromOwn: device) else {
                return .dropped
            }
            var message = message
            message.body = body
            return .message(message, number: nil, seen: false)
        }
        guard isAccepted, message.authenticated, message.group == nil, let sender = message.from,
            sender != transaction.owner.id, let contact = try transaction.contact(id: sender),
            !contact.name.isEmpty, contact.changed == nil, let written = message.time
        else { return .dropped }
        let taken = try transaction.takeRepair(
            message.body, from: contact, device: message.device ?? sender, written: written)
        var message = message
        switch taken {
        case .known: return .dropped
        case .tooMany:
            return .failed(.tooManyRepairs(by: contact.name), id: envelope.id, isFinal: true)
        case .news(let body): message.body = body
        }
        guard !isPreview else { return .message(message, number: nil, seen: false) }
        let number = try transaction.recordOpened(
            id: envelope.id, digest: envelope.digest, message)
        // The lost machine can have had another list of devices.
        try transaction.take(cardIn: message)
        try transaction.passOn(message, number: number)
        return .message(message, number: number, seen: false)
    }

    /// Returns the failure of an envelope of a lost session with the name of the contact from whom it claims to be. Notes the claim.
    /// A stranger can write such envelopes without end, so that they can be deleted too.
    func lost(
        _ error: SessionError, _ transaction: StateTransaction?
    ) throws -> (failure: Failure, claimed: KeyID)? {
        guard var claimed = error.claimedSender else { return nil }
        if !isPreview { try transaction?.noteUnopened(from: claimed) }
        if let own = try transaction?.otherDevices().first(where: { $0.id == claimed }) {
            return (error.failure(claimed: ownDevice(named: own.name ?? "")), claimed)
        }
        if let person = try transaction?.person(ofDevice: claimed) { claimed = person }
        guard let transaction, let contact = try transaction.contact(id: claimed),
            !contact.name.isEmpty
        else {
            let failure = error.failure
            let hint =
                "tell your contacts if this state is new or was restored, or delete what nothing here opens: sotto contact repair --send, or sotto recv --forget all"
            return (Failure(failure.status, failure.message, hint: hint), claimed)
        }
        return (error.failure(claimed: contact.name), claimed)
    }
}

extension Failure {
    fileprivate static func tooManyRepairs(by name: String) -> Failure {
        Failure(
            .untrusted,
            "\(name) told of more than \(RepairBody.dailyRepairs) lost states today; this one was ignored, and what you write can be unreadable there until tomorrow"
        )
    }
}

extension Message {
    /// Whether the message says that its author lost a state.
    var isRepair: Bool { body["type"]?.string == RepairBody.type }
}
