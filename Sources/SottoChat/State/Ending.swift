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
        guard !isFinishing else { return endCounting(status) }
        finishing = status
        finishLimit = uptime + Self.finishMilliseconds
        relayLimit = uptime + Self.relayMilliseconds
        endTyping()
        for contact in presenceContacts {
            make("compose", ["presence", "--offline", contact.id], isQuiet: true)
        }
        guard options.form == .screen else { return }
        say("ending, when everything is sent or in the outbox; Ctrl-C ends now")
    }

    /// The time in which everything that was asked for is done at the end, after the last transfer of a file.
    private static let finishMilliseconds: Int64 = 60_000
    /// The time for which a person waits for relays at the end, after the work on this machine.
    private static let relayMilliseconds: Int64 = 1_500

    mutating func endIfFinished() {
        guard let finishing else { return }
        limitRelays()
        let isSending = sender.id != nil && isSenderClosing
        if !options.isInteractive,
            isSending || running.values.contains(where: \.job.isFetch)
        {
            finishLimit = uptime + Self.finishMilliseconds
        }
        guard uptime < finishLimit else {
            refuse("not everything was done in a minute", status: 75)
            return end(finishing == 0 ? failure ?? 75 : finishing)
        }
        guard makings.isEmpty, marks.isEmpty || isLocked,
            !running.values.contains(where: { $0.job.mustFinish })
        else { return }
        if let id = sender.id {
            if outgoing.isWritten, !isSenderClosing {
                isSenderClosing = true
                effects.append(.closeInput(id))
            }
            guard isRelayGivenUp else { return }
            guard isCounted, !outgoing.hasKept, isSenderClosing else { return listOutbox() }
            if isRunning(.waiting) { return }
            effects.append(.stop(id))
            return endCounting(finishing == 0 ? failure ?? 0 : finishing)
        }
        if !queued.isEmpty || refreshes.contains(.waiting), !isCounted {
            (isCounted, queued) = (true, [])
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
        endCounting(finishing == 0 ? failure ?? 0 : finishing)
    }

    /// Gives relays up that do not answer a person in time: what waits for them is in the outbox, or is named at the end.
    private mutating func limitRelays() {
        guard options.isInteractive else { return }
        let works = running.values.contains { $0.job.mustFinish && !$0.job.isOfRelay }
        if !isRelayGivenUp {
            if works { relayLimit = uptime + Self.relayMilliseconds }
            isRelayGivenUp = uptime >= relayLimit
        }
        guard isRelayGivenUp else { return }
        for (id, run) in running where run.job.isOfRelay && !run.isStopped {
            running[id]?.isStopped = true
            effects.append(.stop(id))
        }
    }

    /// Looks which envelopes the outbox has, so that the sender can be stopped.
    private mutating func listOutbox() {
        guard uptime >= nextCount, !isRunning(.waiting) else { return }
        (nextCount, isCounted) = (uptime + 500, true)
        refreshes.remove(.waiting)
        run(.waiting, "send", ["--list", "--json"])
    }

    /// Ends at once, and says how many messages the relay has not taken.
    mutating func endCounting(_ status: Int32) {
        guard ending == nil else { return }
        let count = unstored.count
        if count > 0 {
            let words =
                count == 1
                ? "1 message waits: it is sent by the next sotto chat or sotto send"
                : "\(count) messages wait: they are sent by the next sotto chat or sotto send"
            effects.append(.warn("sotto chat: \(words)"))
        }
        end(status)
    }

    /// The ids of the messages that the relay has not taken.
    private var unstored: Set<String> { queued.union(outgoing.keptIDs) }

    /// The number of messages that wait because the relay does not take them.
    var waiting: Int { trouble == nil ? queued.count : unstored.count }

    /// The times that a sender which fails at the end is started again.
    private static let lastAttempts = 3

    // MARK: Texts that were not sent

    /// The texts that were typed and not sent, as lines for the terminal after the end.
    package var unsentLines: [String] {
        var texts: [(title: String, text: String)] = []
        // The history has the others.
        for text in pending where text.ids.isEmpty {
            let verb = isMaking(text.number) ? "may not be sent" : "not sent"
            texts.append(("\(verb) to \(conversationName(text.key))", text.text))
        }
        for line in lost {
            let place = line.key.map { " to \(conversationName($0))" } ?? ""
            texts.append(("not sent\(place)", line.text))
        }
        let named = drafts.map { key, draft in
            (title: "not sent to \(conversationName(key))", text: draft)
        }
        texts += named.sorted { $0.title < $1.title }
        let name = (openingName ?? options.who).map { Cells.line($0, limit: 40) }
        let place = (name ?? conversation.map { $0.name }).map { " to \($0)" } ?? ""
        let line = options.form == .screen ? unsentLine : waitingLines.joined(separator: "\n")
        texts.append(("not sent\(place)", line))
        let lines = texts.filter { $0.text.contains { !$0.isWhitespace } }.flatMap {
            each -> [String] in
            let lines = Cells.plain(each.text)
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            return ["sotto chat: \(each.title):"] + lines
        }
        return lines
    }

    /// Leaves a command that was not done in the line, if nothing else is typed there. Without a screen, it is printed at the end.
    mutating func leaveCommand(_ command: TypedCommand?) {
        guard let command else { return }
        if options.form == .lines {
            lost.append((command.key, command.line))
        } else if editor.isEmpty, subject == nil, conversation?.key == command.key {
            editor.set(command.line)
        }
    }

    /// Tells, without a screen, that a text was not sent. A long one is printed whole at the end.
    mutating func lose(
        _ text: String, to key: ConversationKey?, _ cause: String, status: Int32 = 1
    ) {
        let shown = Cells.line(text, limit: 40)
        if shown != text { lost.append((key, text)) }
        command = nil
        refuse("not sent: “\(shown)”: \(cause)", status: status)
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
