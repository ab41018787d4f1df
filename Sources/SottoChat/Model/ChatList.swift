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

        var name: String {
            switch self {
            case .invitation(let group): group.name
            case .request(let request): request.claimedName ?? String(request.id.prefix(16))
            case .conversation(let conversation): conversation.name
            case .silent(_, let name): name
            }
        }
    }

    var conversations: [ChatConversation] = []
    var contacts: [ChatContact] = []
    var requests: [ChatRequest] = []
    var groups: [ChatGroup] = []
    /// Whether the conversations were read once.
    var isLoaded = false
    var selection = 0
    /// The most items of one kind that are kept.
    static let limit = 2_000

    func contact(_ id: String) -> ChatContact? { contacts.first { $0.id == id } }

    func group(_ id: String) -> ChatGroup? { groups.first { $0.id == id } }

    func conversation(_ key: ConversationKey) -> ChatConversation? {
        conversations.first { $0.key == key }
    }

    /// The items whose names contain a text.
    func items(_ filter: String) -> [Item] {
        let invitations = groups.filter { $0.standing == "invited" }
        // What is waiting for an answer is above. A group that ended for the user is in no list; /open shows it.
        let others = Set(groups.filter { !$0.isShown }.map(\.id))
        var items = invitations.map(Item.invitation)
        let waiting = requests.filter { contact($0.id) == nil && $0.count > 0 }
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
