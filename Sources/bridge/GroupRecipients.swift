import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// The members of a group who get a message in another messenger, and those who do not.
struct GroupRecipients {
    /// What a member needs for a message.
    struct Requirement {
        /// The need in words, after "no member of the group has".
        let words: String
        /// Throws a failure if a member may not be written to, or lacks it.
        let check: (Correspondent) throws -> Void
        /// Whether two members are one recipient.
        let areOne: (Correspondent, Correspondent) -> Bool

        /// An account in Whisper2.
        static func whisper2(_ book: AddressBook, _ policy: TrustPolicy?) -> Requirement {
            Requirement(words: "a whisper2 account to write to") { person in
                guard person.profiles.whisper2 != nil else {
                    throw MessengerError.noProfile(.whisper2)
                }
                try book.check(person, messenger: .whisper2, policy)
            } areOne: {
                // A member can own two ids with one account.
                $0.profiles.whisper2 == $1.profiles.whisper2
            }
        }
    }

    let id: GroupID
    /// The members who get the message, without the owner.
    let people: [Correspondent]
    /// The failure to end with if other members get no message; `nil` if all do.
    let unreached: Failure?

    /// Finds the members who may read what the owner writes. Each member who gets no message is named on standard error.
    ///
    /// Throws a failure for an unknown group, for a group in which the owner may not write, and if no member fulfils the
    /// requirement.
    init(_ name: String, in book: AddressBook, _ requirement: Requirement) throws {
        let group = try book.requiredGroup(name, for: .acting)
        let store = try book.writableStore()
        let (readers, notes) = try store.preview {
            (try $0.readers(of: group), try $0.notes(of: group))
        }
        var people: [Correspondent] = []
        var failures: [Failure] = []
        for reader in readers {
            let person = try Correspondent(
                member: reader, card: notes[reader]?.card,
                contact: store.readableContact(id: reader))
            switch try result({ try requirement.check(person) }) {
            case .success where people.contains { requirement.areOne($0, person) }: continue
            case .success: people.append(person)
            case .failure(let failure):
                Terminal.say(
                    "\(BridgeTool.toolName): error: \(person.name) gets no message: \(failure.message)"
                )
                if let hint = failure.hint, hint != failures.last?.hint {
                    Terminal.say("\(BridgeTool.toolName): hint: \(hint)")
                }
                failures.append(failure)
            }
        }
        guard !people.isEmpty else {
            throw Failure(
                (failures.first { $0.status == .untrusted } ?? failures.first)?.status ?? .noKey,
                readers.isEmpty
                    ? "no other member of \(name) may read your messages"
                    : "no member of \(name) has \(requirement.words)")
        }
        (id, self.people) = (group.id, people)
        unreached =
            failures.isEmpty
            ? nil
            : Failure(
                .partial,
                "\(failures.count) of \(readers.count) members of \(name) get no message")
    }
}

extension Correspondent {
    /// Creates a member of a group. The accounts are those of the contact; without an account in Whisper2 there, those on the
    /// card that came with the changes of the group, if it has the contact's keys.
    fileprivate init(member id: KeyID, card: Card?, contact: Contact?) throws {
        guard let contact else {
            self.init(id: id, card: card, contact: nil)
            return
        }
        let known = contact.profiles
        guard known.whisper2 == nil, let card, contact.agrees(with: card) else {
            self.init(id: id, card: contact.card, contact: contact)
            return
        }
        self.init(id: id, card: card, contact: contact, accounts: try card.profiles().object)
    }
}
