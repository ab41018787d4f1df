import Sotto

/// The chat without a screen: lines come in and go out.
extension ChatState {
    /// Takes a line of standard input.
    mutating func enter(_ line: String) {
        guard waitingLines.count < 10_000 else {
            return refuse("a line was not sent: too many wait")
        }
        waitingLines.append(line)
    }

    /// Whether a line waits: until the conversation is opened and read, and a command also until the messages of the lines before
    /// it are among the messages that it can mean.
    func mustWait(_ line: String) -> Bool {
        isPreparing || isCatchingUp && line.hasPrefix("/") && !line.hasPrefix("//")
    }

    /// Returns the mark of an own message from before the start that did not leave this home as usual, or `nil`.
    private func mark(of message: ChatMessage) -> String? {
        let isEarlier = message.place < started || conversation?.isLoaded == false
        guard message.isOwn, !message.isDeleted, !message.isLocal, isEarlier else { return nil }
        return switch message.fate {
        case .unsent where started.seconds - message.place.seconds < 60: "not sent yet"
        case .unsent, .failed: "not sent"
        case .queued: "queued"
        case .handedOn: "handed on"
        case .stored, .delivered, .read, nil: nil
        }
    }

    /// Prints a message once.
    mutating func printLine(_ message: ChatMessage) {
        // Earlier messages, which are loaded later, are not printed after later ones.
        if conversation?.isLoaded == true, message.number < lastPrinted { return }
        guard printed.insert(message.number).inserted else { return }
        lastPrinted = max(lastPrinted, message.number)
        if printed.count > 10_000 { printed = printed.filter { $0 > lastPrinted - 5_000 } }
        let clock = options.localTime(message.time)
        let head = "\(Words.padded(clock.hour)):\(Words.padded(clock.minute)) \(message.name)  "
        let quote = conversation?.quotation(in: message).map { "> \($0)\n" } ?? ""
        let forwarded = message.forwarded.map {
            $0.isEmpty ? "[forwarded] " : "[forwarded from \(name(of: $0))] "
        }
        let mark = mark(of: message).map { " [\($0)]" } ?? ""
        let body: String =
            switch message.content {
            case .text(let text): text
            case .file(let name, let about, let text):
                "[\(name), \(about)] /save \(message.number)" + (text.isEmpty ? "" : "\n" + text)
            case .note(let note): "[\(note)]"
            }
        let lines = (quote + (forwarded ?? "") + body + mark).split(
            separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            effects.append(.print((index == 0 ? head : MessageRows.spaces(6)) + line))
        }
    }
}
