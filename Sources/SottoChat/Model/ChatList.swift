import Sotto
import SottoBytes

/// The list of conversations, and of what waits for an answer.
struct ChatList: Sendable {
    enum Item: Sendable, Hashable {
        case invitation(ChatGroup)
        case request(ChatRequest)
        case conversation(ChatConversation)
        /// A contact or a group without messages.
        case silent(ConversationKey, name: String)

        /// The item's identity, also after its other properties or its place have changed.
        enum ID: Sendable, Hashable {
            case invitation(String)
            case request(String)
            case conversation(ConversationKey)
        }

        var id: ID {
            switch self {
            case .invitation(let group): .invitation(group.id)
            case .request(let request): .request(request.id)
            case .conversation(let conversation): .conversation(conversation.key)
            case .silent(let key, _): .conversation(key)
            }
        }

        var name: String {
            switch self {
            case .invitation(let group): group.name
            case .request(let request):
                request.contactName ?? request.claimedName ?? String(request.id.prefix(16))
            case .conversation(let conversation): conversation.name
            case .silent(_, let name): name
            }
        }
    }

    /// The item that Enter opens.
    enum Choice: Sendable, Hashable {
        case first
        case item(Item.ID)
        /// No item, because the typed number is that of none.
        case nothing
    }

    var conversations: [ChatConversation] = []
    var contacts: [ChatContact] = []
    var requests: [ChatRequest] = []
    var groups: [ChatGroup] = []
    /// Whether the conversations were read once.
    var isLoaded = false
    /// Whether the contacts were read once.
    var areContactsLoaded = false
    /// The chosen item. The first one is fixed as soon as the screen shows it.
    var choice = Choice.first
    /// The items that the screen shows, in their order.
    var painted: [Item.ID] = []
    /// The most items of one kind that are kept.
    static let limit = 2_000

    func contact(_ id: String) -> ChatContact? { contacts.first { $0.id == id } }

    func group(_ id: String) -> ChatGroup? { groups.first { $0.id == id } }

    func conversation(_ key: ConversationKey) -> ChatConversation? {
        conversations.first { $0.key == key }
    }

    /// The requests that wait for an answer: of senders who are no contacts, and of contacts with a new key.
    var waiting: [ChatRequest] {
        requests.filter { request in
            guard request.count > 0 else { return false }
            return contact(request.id).map { request.contactName != nil && !$0.isBlocked } ?? true
        }
    }

    /// The items whose names contain a text.
    func items(_ filter: String) -> [Item] {
        let invitations = groups.filter { $0.standing == "invited" }
        // Items that wait for an answer come first. A group that ended for the user is in no list; /open shows it.
        let others = Set(groups.filter { !$0.isShown }.map(\.id))
        var items = invitations.map(Item.invitation)
        items += waiting.map(Item.request)
        let shown = conversations.filter {
            if case .group(let id) = $0.key { return !others.contains(id) }
            return true
        }
        items += shown.map(Item.conversation)
        let known = Set(shown.map(\.key))
        for group in groups
        where group.standing == "member" && !group.isDeleted && !known.contains(.group(group.id)) {
            items.append(.silent(.group(group.id), name: group.name))
        }
        for contact in contacts where !contact.isBlocked && !known.contains(.person(contact.id)) {
            items.append(.silent(.person(contact.id), name: contact.name))
        }
        guard !filter.isEmpty else { return items }
        let wanted = filter.lowercased()
        return items.filter { !$0.name.lowercased().pieces(between: wanted).dropFirst().isEmpty }
    }

    /// Returns the place of the chosen item among items, or `nil` if it is not there.
    func place(in items: [Item]) -> Int? {
        switch choice {
        case .first: items.isEmpty ? nil : 0
        case .item(let id): items.firstIndex { $0.id == id }
        case .nothing: nil
        }
    }

    /// Notes what the screen shows. The first item stays chosen when other items come before it.
    mutating func notePainted(_ ids: [Item.ID]) {
        painted = ids
        switch choice {
        case .first: choice = ids.first.map(Choice.item) ?? .first
        case .item(let id):
            guard !ids.contains(id) else { return }
            // An accepted group or person stays chosen. If it has no row, the user chooses.
            switch id {
            case .invitation(let group): follow(.conversation(.group(group)))
            case .request(let person): follow(.conversation(.person(person)))
            case .conversation: choice = ids.first.map(Choice.item) ?? .first
            }
        case .nothing: break
        }
    }

    private mutating func follow(_ id: Item.ID) {
        choice = painted.contains(id) ? .item(id) : .nothing
    }

    /// The unread messages of other conversations that are not muted, and the number of these conversations.
    func unread(besides key: ConversationKey?) -> (messages: Int, conversations: Int) {
        let silent = Set(groups.filter { !$0.isShown }.map { ConversationKey.group($0.id) })
            .union(contacts.filter(\.isBlocked).map { .person($0.id) })
        let others = conversations.filter {
            $0.key != key && !$0.isMuted && $0.unread > 0 && !silent.contains($0.key)
        }
        return (others.reduce(0) { $0 + $1.unread }, others.count)
    }
}
