import Sotto
import SottoBytes
import SottoMedia

/// The programs of the chat and what they print.
extension ChatState {
    /// The messages of a page.
    static let pageSize = 60
    static let syncSeconds: Int64 = 60

    /// Reads what the first screen shows, when the identity can be read.
    mutating func begin() {
        guard !isStarted else { return }
        isStarted = true
        if let who = options.who { resolve(who) } else { refreshes.insert(.conversations) }
    }

    /// Starts what runs all the time and reads the rest, after the first screen: the programs would delay each other. What is stored
    /// before the start is found, because the list and the newest messages are read again.
    private mutating func beginRest() {
        guard !isComplete, !isLocked, ending == nil, !isFinishing else { return }
        isComplete = true
        startNews()
        startMail()
        refreshes.formUnion([.conversations, .contacts, .requests, .groups, .newest, .waiting])
        nextPresence = now
    }

    mutating func startNews() {
        news.restart = nil
        news.id = run(.news, "history", ["--follow", "--raw", "--limit", "1", "--json"])
    }

    mutating func startMail() {
        mail.restart = nil
        mail.id = receive(.mail, ["--follow"])
    }

    private mutating func receive(_ job: Job, _ arguments: [String]) -> Pipeline.ID {
        run(
            job,
            [
                Pipeline.Stage("recv", arguments),
                Pipeline.Stage(
                    "decrypt", ["-q", "--receipts", "/dev/fd/\(Pipeline.confirmations)"]),
            ], confirmingStage: 1)
    }

    /// Decrypts what an earlier `decrypt` did not finish, such as one that was killed.
    private mutating func receiveAgain() {
        if !isRunning(.again) { _ = receive(.again, ["--again", "-q"]) }
    }

    // MARK: Records that are made

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
                success: success, reads: reads, isQuiet: isQuiet))
    }

    mutating func runMakings() {
        guard isStarted, !isMaking, !makings.isEmpty else { return }
        let making = makings.removeFirst()
        isMaking = true
        run(.making(making), making.stages, input: making.input.map { Array($0.utf8) })
    }

    /// Takes a line of a pipeline that ends with `encrypt`.
    private mutating func takeMade(_ id: Pipeline.ID, _ line: [UInt8], _ record: JSONObject) {
        guard record["type"]?.string != "error" else {
            let cause = record["message"]?.string ?? "a message was not encrypted"
            running[id]?.say("encrypt: error: \(cause)")
            return
        }
        running[id]?.isMade = true
        outgoing.add(line, record)
        guard case .making(let making)? = running[id]?.job, record["type"]?.string == "envelope",
            let name = record["id"]?.string,
            let index = pending.firstIndex(where: { $0.number == making.pending }),
            pending[index].ids.insert(name).inserted
        else { return }
        // The history can have told about the message before.
        if conversation?.hasOwn(name) == true { removePending(making.pending) }
    }

    private mutating func endMaking(_ making: Making, _ run: Running, _ statuses: [Int32]) {
        isMaking = false
        let isDone = statuses.allSatisfy { $0 == 0 }
        if !isDone {
            let cause = run.cause(statuses)
            if let number = making.pending, !run.isMade { fail(number, cause) }
            if !making.isQuiet {
                let typed = options.form == .lines && making.pending != nil ? making.input : nil
                let words = typed.map { "not sent: “\(Cells.line($0, limit: 40))”: " } ?? ""
                refuse(words + cause, status: statuses.last { $0 != 0 } ?? 1)
            }
            // A program that was killed can have stored the message.
            refreshes.insert(.newest)
        }
        guard isDone || run.isMade else { return }
        if let text = pending.first(where: { $0.number == making.pending }) {
            // The envelopes for the members of a group have other ids than the message.
            let isAwaited =
                text.key == conversation?.key && !text.key.isGroup && !text.ids.isEmpty
                && text.subject?.isEdit != true
            if !isAwaited { removePending(text.number) }
        }
        if isDone, let success = making.success { say(success) }
        refreshes.formUnion(making.reads)
    }

    /// Marks a typed text as not sent, and gives it back for another attempt.
    private mutating func fail(_ number: Int, _ cause: String) {
        guard let index = pending.firstIndex(where: { $0.number == number }) else { return }
        pending[index].failure = cause
        let isOpen = conversation?.key == pending[index].key
        if editor.isEmpty, subject == nil, isOpen, options.form == .screen {
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

    // MARK: Pictures

    /// The arguments of the helper: its limits are 5 seconds of processor time and 1024 MiB of address space.
    private static let helper = Pipeline.Stage("qr-scan", ["media", "5", "1024"])

    /// Lets the helper decode small pictures, one run at a time.
    mutating func runPreviews() {
        let isRunning = running.values.contains {
            if case .previews = $0.job { true } else { false }
        }
        guard !isRunning, !isFinishing else { return }
        let files = previews.next()
        guard !files.isEmpty else { return }
        let input = files.flatMap { MediaRequest(.preview, length: $0.file.count).line + $0.file }
        run(.previews(files.map(\.number)), [Self.helper], input: input)
    }

    // MARK: Reading again

    mutating func runRefreshes() {
        guard isStarted, !isLocked else { return }
        let isForList = conversation == nil && options.who == nil
        for refresh in Refresh.allCases where refreshes.contains(refresh) {
            guard isComplete || refresh == .conversations && isForList else { continue }
            guard let (job, arguments) = job(of: refresh) else {
                refreshes.remove(refresh)
                continue
            }
            // At most once a second, and never twice at a time. With a passphrase each tool needs much memory for a moment.
            if isRunning(job) || lastRefresh[refresh] == now { continue }
            if passphrase != nil, running.values.contains(where: \.job.isReading) { continue }
            refreshes.remove(refresh)
            run(job, arguments[0], Array(arguments.dropFirst()))
            lastRefresh[refresh] = now
        }
    }

    private func job(of refresh: Refresh) -> (Job, [String])? {
        switch refresh {
        case .conversations: return (.conversations, ["history", "list", "--json"])
        case .contacts: return (.contacts, ["contact", "list", "--json"])
        case .requests: return (.requests, ["contact", "requests", "--json"])
        case .groups: return (.groups, ["group", "list", "--json"])
        case .waiting: return (.waiting, ["send", "--list", "--json"])
        case .members:
            guard case .group(let id)? = conversation?.key else { return nil }
            return (.members(id), ["group", "participants", "--json", id])
        case .newest:
            guard let conversation, conversation.isLoaded else { return nil }
            let limit = ["--limit", "\(Self.pageSize)", "--json"]
            return (
                .refresh(conversation.key),
                ["history", "page"] + limit + ["--", conversation.key.who]
            )
        case .changed:
            guard let conversation, conversation.isLoaded else { return nil }
            let last = lastRefresh[.changed] ?? now
            let since = Timestamp(seconds: last.seconds - 5)
            let options = ["--changed-since", since.description, "--limit", "500", "--json"]
            return (
                .changed(conversation.key),
                ["history", "page"] + options + ["--", conversation.key.who]
            )
        }
    }

    // MARK: Output

    mutating func takeOutput(_ id: Pipeline.ID, _ line: [UInt8]) {
        guard let job = running[id]?.job else { return }
        guard job.isStream else {
            running[id]?.add(line)
            return
        }
        guard let record = try? JSON.object(parsing: line) else {
            return complain("a record of \(line.count) bytes cannot be read")
        }
        switch job {
        case .news: takeNews(record)
        case .mail:
            mail.attempts = 0
            (mailTrouble, receptionTrouble, isReceivedElsewhere) = (nil, nil, false)
            takeMail(record)
        case .again: takeMail(record)
        case .making, .sync, .marking: takeMade(id, line, record)
        default: takeResult(record, of: job)
        }
    }

    mutating func takeError(_ id: Pipeline.ID, _ stage: Int, _ line: String) {
        guard let job = running[id]?.job else { return }
        running[id]?.say(line)
        switch job {
        case .mail where stage == 0:
            if line.hasSuffix("; trying again") {
                (receptionTrouble, isReconnecting) = (Words.cause([line]), false)
            } else if line.contains("reconnected to") {
                (receptionTrouble, sendTrouble) = (nil, nil)
            } else if line.contains("not decrypted here") {
                receiveAgain()
            }
        case .again where stage == 0: break
        case .mail, .again:
            if let cause = Words.cause([line]), line.contains("error:") { complain(cause) }
        case .sender, .delivery:
            // The end of a delivery tells its error.
            let isError = line.contains("error:") && job == .sender
            if let cause = Words.cause([line]), isError || line.contains("warning:") {
                complain(cause)
            }
        default: break
        }
    }

    // MARK: Ends

    mutating func takeEnd(_ id: Pipeline.ID, _ statuses: [Int32]) {
        guard let run = running.removeValue(forKey: id) else { return }
        let status = statuses.last { $0 != 0 } ?? 0
        if status != 0, run.isOfLock { noteLock() }
        switch run.job {
        case .lockStatus: endLockStatus(run, status)
        case .trial: endTrial(run, statuses)
        case .resolve(let who): endResolving(who, run, status)
        case .news:
            news.id = nil
            // Status 1: there is no message yet.
            if status > 1, !isLocked, !isFinishing { complain(run.cause(statuses)) }
            restart(\.news, after: run.errors)
        case .mail: endMail(run, statuses)
        case .again: refreshes.formUnion([.newest, .requests])
        case .sender: endSender(run, statuses)
        case .making(let making): endMaking(making, run, statuses)
        case .delivery(let name):
            if status == 0 {
                say("sent \(name)")
            } else {
                var cause = run.cause(statuses)
                if cause.hasSuffix("no such file or directory") || cause.hasSuffix("no such file") {
                    cause += "; quote a name with spaces"
                }
                refuse(cause, status: status)
            }
            refreshes.insert(.newest)
        case .change(let success):
            if status == 0 { say(success) } else { refuse(run.cause(statuses), status: status) }
            refreshes.formUnion([.contacts, .conversations, .requests, .groups, .newest])
        case .fetch(let number):
            guard status == 0 else { return refuse(run.cause(statuses), status: status) }
            self.run(.save(number), "history", ["save", "-q", "\(number)"])
        case .save:
            guard status == 0 else { return refuse(run.cause(statuses), status: status) }
            say("saved as \(String(decoding: run.lines.first ?? [], as: UTF8.self))")
        case .overlay: endOverlay(run, status)
        case .facts(let subject): endFacts(subject, run, statuses)
        case .copy: endCopy(run, statuses)
        case .sync: break
        case .marking(let key, let number):
            // The messages are marked also if a receipt was not encrypted.
            if statuses.first == 0 {
                if conversation?.key == key { conversation?.mark(upTo: number) }
                refreshes.insert(.conversations)
                markSeen()
            } else {
                conversation?.forgetUnmarked()
            }
        case .previews(let numbers): previews.take(run.lines, of: numbers)
        case .conversations, .contacts, .requests, .groups, .members, .waiting, .page, .refresh,
            .changed:
            endReading(run, statuses)
        }
        switch run.job {
        case .conversations, .page: beginRest()
        default: break
        }
    }

    /// Starts a service again, later after each attempt.
    private mutating func restart(
        _ service: WritableKeyPath<ChatState, Service>, after errors: [String], least: Int64 = 1
    ) {
        guard ending == nil else { return }
        let delay = max(least, Int64(1) << min(self[keyPath: service].attempts, 6))
        self[keyPath: service].attempts += 1
        self[keyPath: service].restart = Timestamp(seconds: now.seconds + min(delay, 60))
    }

    private mutating func endMail(_ run: Running, _ statuses: [Int32]) {
        (mail.id, receptionTrouble) = (nil, nil)
        guard !isLocked else { return }
        let isOther = run.errors.contains {
            $0.contains("another recv is running") || $0.contains("took over its mailbox")
        }
        if isOther {
            if !isReceivedElsewhere {
                tell("another recv receives the mail; its messages are shown here")
            }
            isReceivedElsewhere = true
            mailTrouble = nil
            return restart(\.mail, after: [], least: 30)
        }
        isReceivedElsewhere = false
        let cause = run.cause(statuses)
        if mailTrouble == nil, !isFinishing, ending == nil {
            complain("no mail is received: \(cause)")
        }
        mailTrouble = cause
        restart(\.mail, after: run.errors)
    }

    private mutating func endSender(_ run: Running, _ statuses: [Int32]) {
        sender.id = nil
        let status = statuses.last ?? 0
        if status != 0, !isFinishing { complain(run.cause(statuses)) }
        // With these, the outbox has what was not sent.
        outgoing.end(isDone: [0, 15, 75].contains(status))
        if !outgoing.isEmpty { restart(\.sender, after: run.errors) }
        refreshes.insert(.newest)
    }

    private mutating func endResolving(_ who: String, _ run: Running, _ status: Int32) {
        guard status == 0, let line = run.lines.first, let record = try? JSON.object(parsing: line)
        else {
            let known = Words.cause(run.errors) ?? "\(who) is not known"
            let isUnknown = known.hasPrefix("no contact, group or file has the name")
            // compose knows similar names.
            let suggestion = "; did you mean"
            let similar = known.pieces(between: suggestion).dropFirst().map { suggestion + $0 }
            let cause = isUnknown ? noName(who) + similar.joined() : known
            guard !isLocked else { return }
            guard options.who == who else { return endOpening(cause, status == 0 ? 70 : status) }
            effects.append(.warn("sotto chat: error: \(cause)"))
            for line in run.errors where line.contains("compose: hint: ") {
                effects.append(.warn(line.replacingAll("compose: ", with: "sotto chat: ")))
            }
            return end(status == 0 ? 70 : status)
        }
        options.who = nil
        // Text that was typed meanwhile is for the named conversation.
        let typed = editor.text
        editor.set("")
        defer {
            let draft = editor.isEmpty || typed.isEmpty ? editor.text : editor.text + " "
            editor.set(draft + typed)
        }
        if let group = record["group"]?.string {
            open(.group(group), name: who)
        } else if let id = record["to"]?.string {
            // No contact has the name of the owner.
            if who.lowercased() == "me" { ownID = id }
            open(.person(id), name: who)
        }
    }
}
