/// The prompt for the passphrase.
extension ChatState {
    func lockRows(_ lock: LockPrompt) -> ([[Screen.Span]], Screen.Place?) {
        // The same number for all lengths: the screen must not show the length.
        let stars = lock.passphrase.count > 0 ? "****" : ""
        let box = lock.stays ? "[x]" : "[ ]"
        var rows: [[Screen.Span]] = [
            [Screen.Span(MessageRows.padded(" sotto chat", options.columns), .reversed)], [],
            [Screen.Span("The identity is locked.", .bold)], [],
            [Screen.Span("Passphrase: "), Screen.Span(stars)], [],
            [Screen.Span("\(box) Tab: stay unlocked for 8 hours, also after the chat")],
            [
                Screen.Span(
                    "Enter: unlock   Ctrl-U: clear   \(isStarted ? "Esc: back" : "Ctrl-C: end")",
                    .dim)
            ], [],
        ]
        if lock.isWaiting { rows.append([Screen.Span("unlocking…", .dim)]) }
        rows += Cells.wrap(Cells.plain(lock.message), width: options.columns, limit: 4).rows.map {
            [Screen.Span($0, .alert)]
        }
        return (rows, lock.isWaiting ? nil : Screen.Place(row: 4, column: 12 + stars.count))
    }
}
