/// A text over the conversation, such as the help.
struct Overlay: Sendable {
    static let lineLimit = 5_000
    /// The title of the facts about a contact.
    static let contact = "contact"
    /// The title of the pinned messages.
    static let pins = "pinned messages; /info NUMBER shows one"

    var title: String
    var lines: [String]
    /// The first line that is shown.
    var top = 0
    var isLoading = false
}
