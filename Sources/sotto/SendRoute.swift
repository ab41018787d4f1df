/// The way from what a command prints to `send`.
enum SendRoute {
    /// The command prints message records, which `encrypt` makes into envelopes.
    case messages
    /// The command prints what `send` takes: envelopes, a card, or prekeys.
    case envelopes
    /// The command is one side of a meeting between `recv --meeting` and `send`.
    case meeting

    /// The commands of `group` that print no records for the members.
    private static let groupQueries: Set<String> = [
        "check", "decline", "forget", "list", "log", "participants", "revoke", "show",
    ]

    /// The way of the command `word` of a tool; `nil` if it prints nothing to send.
    init?(_ tool: Tool, command word: String?) {
        switch (tool, word ?? "") {
        case (.encrypt, _): self = .envelopes
        case (.compose, _): self = .messages
        case (.device, "request"), (.device, "add"): self = .meeting
        case (.device, "rename"), (.device, "remove"), (.device, "confirm"), (.device, "object"),
            (.device, "announce"), (.device, "sync"), (.device, "list"):
            self = .messages
        case (.group, let word) where !Self.groupQueries.contains(word): self = .messages
        case (.history, "read"), (.history, "repeat"), (.contact, "profile"), (.contact, "repair"):
            self = .messages
        case (.keygen, "public"), (.keygen, "prekeys"), (.keygen, "set"),
            (.keygen, "rotate"), (.bridge, "card"):
            self = .envelopes
        default: return nil
        }
    }
}
