import Sotto
import SottoContacts
import SottoState

/// The owner's card in messages to people who have not answered yet.
extension RecipientDirectory {
    /// The bytes that remain for a message's id, time and other members beside its body and the card.
    private static let otherMembers = 1_024

    /// Returns the owner's card if a message to one person has to carry it, and counts the message: the person has not answered
    /// yet, and the message has content, with space for the card. The news of a lost state carries it always.
    func card(
        for destination: Destination, with body: JSONObject,
        _ extra: [(name: String, value: JSON)], _ transaction: StateTransaction
    ) throws -> JSONObject? {
        let isRepair = body["type"]?.string == RepairBody.type
        let isAnnouncement = body["type"]?.string == DeviceBody.type
        guard let person = destination.recipient, destination.takesCard,
            try isAnnouncement
                || isRepair && transaction.contact(id: person.id) != nil
                || person.id != own && transaction.lacksCard(person.id)
                    && (try? MessageBody(body))?.isContent == true,
            let card = try ownCard(for: person.id, transaction)
        else { return nil }
        let length = card.serialized().count
        let form: RecordForm = card["type"]?.string == Succession.type ? .succession : .card
        let others = JSONObject(extra.map { ($0.name, $0.value) } + [("body", .object(body))])
        guard length <= form.bytes,
            length + others.serialized().count + Self.otherMembers <= Sealed.recordLimit
        else { return nil }
        try transaction.countCard(for: person.id)
        return card
    }

    /// Returns the card that a person is meant to have: with the address that the contact was given, and without accounts in
    /// other messengers. Returns `nil` if the contact cannot be read: its address is unknown, and the card without it would
    /// name the owner's main mailbox.
    private func ownCard(
        for person: KeyID, _ transaction: StateTransaction
    ) throws -> JSONObject? {
        let address: SendAddress?
        do throws(StateError) {
            address = try transaction.contact(id: person)?.address
        } catch .unsealable {
            return nil
        } catch {
            throw error
        }
        if try person == transaction.owner.id || ownDevice(person) != nil {
            return try transaction.cardForDevices(issued: .now()).record
        }
        // Another device than the first one cannot sign the card with the address.
        guard address == nil || transaction.owner.owner == nil else { return nil }
        if let made = ownCards[address] { return made }
        // A new identity tells whom it replaces, and an old one who replaces it. A separate address goes before.
        if address == nil, let succession = try book.identity().succession {
            ownCards[address] = succession.record
            return succession.record
        }
        let card = try transaction.ownCard(address: address, issued: .now())
        ownCards[address] = card.record
        return card.record
    }
}

extension Destination {
    /// Whether a message can carry the owner's card: the suite authenticates the sender, and the recipient does not get it as
    /// a member of a group alone.
    fileprivate var takesCard: Bool {
        guard relays == nil else { return false }
        return switch route {
        case .session: true
        case .suite(let type, _): type == Sealed.self
        case .machineOne: false
        }
    }
}
