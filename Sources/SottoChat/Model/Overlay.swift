/// A text over the conversation, such as the help.
struct Overlay: Sendable {
    static let lineLimit = 5_000

    var title: String
    var lines: [String]
    /// The first line that is shown.
    var top = 0
    var isLoading = false
}
