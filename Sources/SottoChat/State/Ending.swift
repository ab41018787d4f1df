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
        (isFinishing, finishingStatus) = (true, status)
        for contact in presenceContacts {
            make("compose", ["presence", "--offline", contact.id], isQuiet: true)
        }
        guard options.form == .screen else { return }
        say("ending, when everything is sent or in the outbox; Ctrl-C ends now")
    }

    mutating func endIfFinished() {
        guard isFinishing, makings.isEmpty, !isMaking,
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
            let words = "not everything was sent: send ends with an error"
            if options.form == .screen { effects.append(.warn("sotto chat: \(words)")) }
            refuse(words)
        }
        if waiting > 0 {
            let words =
                waiting == 1
                ? "1 message waits: it is sent by the next sotto chat or sotto send"
                : "\(waiting) messages wait: they are sent by the next sotto chat or sotto send"
            effects.append(.warn("sotto chat: \(words)"))
        }
        end(finishingStatus == 0 ? failure ?? 0 : finishingStatus)
    }

    /// The times that a sender which fails at the end is started again.
    private static let lastAttempts = 3
}
