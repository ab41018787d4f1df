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
}
