/// The end of the program.
extension ChatState {
    /// Ends at once.
    mutating func end(_ status: Int32) {
        guard ending == nil else { return }
        ending = status
        effects.append(.end(status))
    }

    /// Ends when what was typed is sent or in the outbox.
    mutating func finish(_ status: Int32) {
        guard !isFinishing else { return end(status) }
        finishing = status
        for contact in presenceContacts {
            make("compose", ["presence", "--offline", contact.id], isQuiet: true)
        }
        guard options.form == .screen else { return }
        say("ending, when everything is sent or in the outbox; Ctrl-C ends now")
    }

    mutating func endIfFinished() {
        guard let finishing, makings.isEmpty,
            !running.values.contains(where: { $0.job.mustFinish })
        else { return }
        if let id = sender.id {
            if outgoing.isWritten, !isSenderClosing {
                isSenderClosing = true
                effects.append(.closeInput(id))
            }
            return
        }
        if waiting > 0 || refreshes.contains(.waiting), !isCounted {
            (isCounted, waiting) = (true, 0)
            refreshes.remove(.waiting)
            run(.waiting, "send", ["--list", "--json"])
        }
        if isRunning(.waiting) { return }
        if !outgoing.isEmpty {
            guard sender.attempts > Self.lastAttempts else {
                startSender()
                return feedSender()
            }
            outgoing = Outgoing()
            refuse("not everything was sent: send ends with an error")
        }
        if waiting > 0 {
            let words =
                waiting == 1
                ? "1 message waits: it is sent by the next sotto chat or sotto send"
                : "\(waiting) messages wait: they are sent by the next sotto chat or sotto send"
            effects.append(.warn("sotto chat: \(words)"))
        }
        end(finishing == 0 ? failure ?? 0 : finishing)
    }

    /// The times that a sender which fails at the end is started again.
    private static let lastAttempts = 3

    // MARK: Texts that were not sent

    /// The texts that were typed and not sent, as lines for the terminal after the end of the screen. Without a screen, the terminal
    /// or the file still has them.
    package var unsentLines: [String] {
        guard options.form == .screen else { return [] }
        var texts: [(title: String, text: String)] = []
        // The history has the others.
        for text in pending where text.ids.isEmpty {
            let verb = isMaking(text.number) ? "may not be sent" : "not sent"
            texts.append(("\(verb) to \(conversationName(text.key))", text.text))
        }
        let named = drafts.map { key, draft in
            (title: "not sent to \(conversationName(key))", text: draft)
        }
        texts += named.sorted { $0.title < $1.title }
        let name = (openingName ?? options.who).map { Cells.line($0, limit: 40) }
        let place = name ?? conversation.map { $0.name }
        texts.append(("not sent" + (place.map { " to \($0)" } ?? ""), unsentLine))
        return texts.filter { $0.text.contains { !$0.isWhitespace } }.flatMap { each -> [String] in
            let lines = Cells.plain(each.text)
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            return ["sotto chat: \(each.title):"] + lines
        }
    }

    /// The unsent text of the line: the text from before an earlier line was shown again, and the present one, unless it is that
    /// earlier line or a message that is not changed yet.
    var unsentLine: String {
        let text = editor.text
        var isKnown = recalled.map { typed[$0.place] == text } ?? false
        if case .edit(let number)? = subject, conversation?.message(number)?.plainText == text {
            isKnown = true
        }
        return [recalled?.draft ?? "", isKnown ? "" : text].filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
