package import Sotto
package import SottoState
import SottoTool

extension AddressBook {
    /// Returns the conversation that an argument names, as ``NameRule`` says: with a person, also with one who is no contact, of a
    /// group, or a chat.
    package func conversation(_ who: String, for use: NameUse) throws -> Conversation {
        let isPerson = RecipientArgument.isWritten(who) || ContactName.meansOwner(who)
        let isContact = try view { try $0.contact(named: who) != nil }
        guard !isPerson, isContact == false else {
            return .peer(try find(who, for: use).id)
        }
        do {
            let known = try view { try $0.knownNames() } ?? []
            if let found = try NameRule.meaning(of: who, among: known, for: use) { return found }
        } catch let error as NameError {
            // The file of a card can have a part of a name as its own.
            guard RecipientArgument.isFile(who) else { throw Failure(error) }
        }
        return .peer(try find(who, for: use).id)
    }
}

/// The names of conversations in the output.
package final class ConversationNames {
    /// The name of the conversation of unknown senders.
    static let unknownSender = "unknown sender"

    private let store: IdentityStore
    /// The names of the groups by their members, and by this state, when they were read last.
    private var groups: (given: [GroupID: String], local: [GroupID: String]) = ([:], [:])

    package init(store: IdentityStore) { self.store = store }

    /// Returns the displayed name of a conversation.
    package func name(of summary: ConversationSummary) throws -> String {
        if let name = summary.settings.name { return name }
        switch summary.conversation {
        case .peer(let peer): return try name(of: peer)
        case .chat(let id):
            // An import can claim any name.
            guard !summary.isClaimed else { return id }
            let last = try store.historyEntry(number: summary.last)
            return last?.chatName ?? id
        case .group(let id):
            if let name = try name(of: id) { return name }
            // An import can claim any name.
            let last = try summary.isClaimed ? nil : store.historyEntry(number: summary.last)
            return last?.formerGroupName ?? String(id.description.prefix(16))
        case .unknown: return Self.unknownSender
        }
    }

    /// Returns the displayed name of a group, or `nil` if it has none or is not here.
    private func name(of id: GroupID) throws -> String? {
        let given = try store.preview { try $0.groupHeader(id)?.name } ?? ""
        // A program that follows the history hears of new names.
        if groups.given[id] != given {
            groups = try store.preview { transaction in
                let headers = try transaction.groupHeaders().map { ($0.id, $0.name) }
                return (
                    Dictionary(headers, uniquingKeysWith: { first, _ in first }),
                    try transaction.groupNames()
                )
            }
        }
        return groups.local[id]
    }

    /// Returns the displayed name of a person.
    package func name(of peer: KeyID) throws -> String {
        if peer == store.owner.id { return "me" }
        let name = try store.readableContact(id: peer)?.name ?? ""
        return name.isEmpty ? peer.description : name
    }
}

extension HistoryEntry {
    /// The name that the group had when the message was stored, with the beginning of its id: another group can have the name now.
    /// `nil` for another message.
    package var formerGroupName: String? {
        guard let id = conversation.group, let name = groupName else { return nil }
        return "\(name) (\(id.description.prefix(8)))"
    }

    /// The name that the group had when the message was stored, or `nil`.
    var groupName: String? {
        guard let name = record["details"]?.object?["group"]?.object?["name"]?.string,
            !name.isEmpty
        else { return nil }
        return name
    }

    /// The chat's name as it was when the message was stored.
    package var chatName: String? {
        record["details"]?.object?["chat"]?.object?["name"]?.string
    }
}
