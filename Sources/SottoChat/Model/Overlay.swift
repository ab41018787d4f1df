/// A text over the conversation, such as the help, or a list of its messages.
struct Overlay: Sendable {
    static let lineLimit = 5_000
    /// The title of the facts about a contact.
    static let contact = "contact"
    /// The title of the same facts for a comparison of safety numbers.
    static let verification = "verify the contact"

    var title: String
    var lines: [String]
    /// The messages of a list, one of which Enter shows in the conversation. Empty for a text.
    var messages: [ChatMessage] = []
    /// The text that was searched for, or an empty text.
    var wanted = ""
    /// The place of the chosen message.
    var chosen = 0
    /// The first line that is shown.
    var top = 0
    var isLoading = false
}

/// A list of messages of a conversation.
struct MessageQuery: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case pinned
        /// The messages with a text.
        case text(String)
    }

    var key: ConversationKey
    var kind: Kind

    /// The most messages of a list.
    static let limit = 200

    var title: String {
        switch kind {
        case .pinned: "pinned messages"
        case .text(let text): "messages with “\(Cells.line(text, limit: 40))”"
        }
    }

    /// The text that is searched for, or an empty text.
    var wanted: String { if case .text(let text) = kind { text } else { "" } }

    /// The title of a list that has as many messages as it may have.
    var fullTitle: String { "the newest \(Self.limit) " + title }

    /// The words for an empty list.
    var nothing: String {
        switch kind {
        case .pinned: "no message is pinned here"
        case .text: "no message here has this text"
        }
    }

    /// The arguments of `history`. `form` is the option of the form of the output.
    func arguments(_ form: String) -> [String] {
        let options = ["--limit", "\(Self.limit)", form, "--"]
        return switch kind {
        case .pinned: ["page", "--pinned"] + options + [key.who]
        case .text(let text): ["search"] + options + [text, key.who]
        }
    }
}
