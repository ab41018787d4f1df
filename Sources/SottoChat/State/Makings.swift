import SottoBytes

/// Records that are made, encrypted and sent.
extension ChatState {
    /// Encrypts a record that a tool printed, and sends it.
    mutating func send(_ record: [UInt8]) {
        guard !record.isEmpty else { return }
        let line = String(decoding: record, as: UTF8.self) + "\n"
        // Those that wait are encrypted together.
        if let last = makings.last, last.tool == nil, let input = last.input,
            input.utf8.count < 256 << 10
        {
            makings[makings.count - 1].input = input + line
        } else {
            makings.append(Making(tool: nil, input: line))
        }
    }

    /// Makes message records, encrypts and sends them, after those that were asked for before.
    mutating func make(
        _ tool: String, _ arguments: [String], input: String? = nil, pending: Int? = nil,
        success: String? = nil, reads: Set<Refresh> = [], isQuiet: Bool = false
    ) {
        makings.append(
            Making(
                tool: Pipeline.Stage(tool, arguments), input: input, pending: pending,
                command: pending == nil ? command : nil, success: success, reads: reads,
                isQuiet: isQuiet))
    }

    /// The tool that runs now.
    private var presentMaking: Making? {
        for run in running.values {
            switch run.job {
            case .making(let making), .claim(let making): return making
            default: break
            }
        }
        return nil
    }

    /// Whether the message of a typed text is made now.
    func isMaking(_ number: Int) -> Bool { presentMaking?.pending == number }

    mutating func runMakings() {
        guard isStarted, presentMaking == nil, !makings.isEmpty else { return }
        let making = makings.removeFirst()
        let id = run(.making(making), making.stages, input: making.input.map { Array($0.utf8) })
        running[id]?.command = making.command
    }

    /// Takes a line of a pipeline that ends with `encrypt`.
    mutating func takeMade(_ id: Pipeline.ID, _ line: [UInt8], _ record: JSONObject) {
        guard record["type"]?.string != "error" else {
            let cause = record["message"]?.string ?? "a message was not encrypted"
            running[id]?.say("encrypt: error: \(cause)")
            return
        }
        running[id]?.isMade = true
        outgoing.add(line, record)
        guard case .making(let making)? = running[id]?.job, record.isA("envelope"),
            let name = record["id"]?.string,
            let index = pending.firstIndex(where: { $0.number == making.pending }),
            pending[index].ids.insert(name).inserted
        else { return }
        // The history can have told about the message before.
        if conversation?.hasOwn(name) == true { removePending(making.pending) }
    }

    mutating func endMaking(_ making: Making, _ run: Running) {
        let isDone = run.status == 0
        if !isDone {
            let text = pending.first { $0.number == making.pending }
            if run.needsBundle, !run.isMade, !making.hasClaimed, !isRelayGivenUp,
                case .person(let id)? = text?.key
            {
                self.run(.claim(making), "recv", ["-q", "--bundle", id])
                return
            }
            refuse(making, run)
        }
        guard isDone || run.isMade else { return }
        if let text = pending.first(where: { $0.number == making.pending }) {
            // The envelopes for the members of a group have other ids than the message.
            let isAwaited =
                text.key == conversation?.key && !text.key.isGroup && !text.ids.isEmpty
                && text.subject?.isEdit != true
            if !isAwaited {
                removePending(text.number)
                if text.subject?.isEdit != true { readOwn(in: text.key) }
            }
        }
        if isDone, let success = making.success { say(success) }
        refreshes.formUnion(making.reads)
    }

    /// Takes the end of a claim. The text is made again, before the others.
    mutating func endClaim(_ making: Making, _ run: Running) {
        guard run.status == 0 else { return refuse(making, run) }
        var making = making
        making.hasClaimed = true
        makings.insert(making, at: 0)
    }

    /// Tells that nothing, or not everything, was made, and gives a text back.
    private mutating func refuse(_ making: Making, _ run: Running) {
        // A name with spaces is cut at the first one.
        let isMissing = run.cause.hasSuffix("no such file or directory")
        let cause =
            making.isOfFile && isMissing ? "\(run.cause); quote a name with spaces" : run.advice
        let text = pending.first { $0.number == making.pending }
        if options.form == .lines, let text, !run.isMade {
            removePending(text.number)
            lose(text.text, to: text.key, cause, status: run.status)
        } else {
            if let text, !run.isMade { fail(text.number, cause) }
            if !making.isQuiet { refuse(cause, status: run.status) }
        }
        // The key of the contact can have changed, and a program that was killed can have stored the message.
        refreshes.formUnion([.contacts, .newest])
    }

    /// Reads a new own message in a conversation, if that is open.
    mutating func readOwn(in key: ConversationKey?) {
        guard let key, key == conversation?.key else { return }
        unreadOwn = key
        refreshes.insert(.newest)
    }

    /// Marks a typed text as not sent, and gives it back for another attempt.
    private mutating func fail(_ number: Int, _ cause: String) {
        guard let index = pending.firstIndex(where: { $0.number == number }) else { return }
        pending[index].failure = cause
        let isOpen = conversation?.key == pending[index].key
        if editor.isEmpty, subject == nil, isOpen {
            takeBack(number)
        } else if isOpen {
            conversation?.add(pending[index])
        }
    }

    /// Puts a text that was not sent into the line again.
    mutating func takeBack(_ number: Int) {
        guard let text = pending.first(where: { $0.number == number }) else { return }
        removePending(number)
        editor.set(text.text)
        subject = text.subject
    }

    mutating func removePending(_ number: Int?) {
        guard let number else { return }
        pending.removeAll { $0.number == number }
        conversation?.remove(pending: number)
    }

    /// Starts `send`, which reads until its input is closed.
    mutating func startSender() {
        sender.id = run(.sender, [Pipeline.Stage("send", [])], staysOpen: true)
        (sender.restart, isSenderClosing) = (nil, false)
    }

    /// Gives the sender what it has not got, and starts it if it does not run.
    mutating func feedSender() {
        guard !outgoing.isEmpty, !isSenderClosing || sender.id == nil else { return }
        if sender.id == nil {
            guard sender.restart == nil, !isFinishing else { return }
            startSender()
        }
        guard let id = sender.id else { return }
        let bytes = outgoing.next()
        if !bytes.isEmpty { effects.append(.write(id, bytes)) }
    }
}
