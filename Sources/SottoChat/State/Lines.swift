import Sotto

/// The chat without a screen: lines come in and go out.
extension ChatState {
    /// Takes a line of standard input.
    mutating func enter(_ line: String) {
        guard !isPreparing else {
            // The conversation is being opened and read; what was typed waits for it.
            guard waitingLines.count < 10_000 else {
                return refuse("a line was not sent: too many wait")
            }
            return waitingLines.append(line)
        }
        if line.contains(where: { !$0.isWhitespace }) { take(line: line) }
    }

    /// Prints a message once.
    mutating func printLine(_ message: ChatMessage) {
        guard printed.insert(message.number).inserted else { return }
        if printed.count > 10_000, let newest = printed.max() {
            printed = printed.filter { $0 > newest - 5_000 }
        }
        let clock = options.localTime(message.time)
        let head = "\(Words.padded(clock.hour)):\(Words.padded(clock.minute)) \(message.name)  "
        let quote = message.quote?.text.map { "> \($0)\n" } ?? ""
        let body: String =
            switch message.content {
            case .text(let text): text
            case .file(let name, let about, let text):
                "[\(name), \(about)] /save \(message.number)" + (text.isEmpty ? "" : "\n" + text)
            case .note(let note): "[\(note)]"
            }
        let lines = (quote + body).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            effects.append(.print((index == 0 ? head : MessageRows.spaces(6)) + line))
        }
    }
}
