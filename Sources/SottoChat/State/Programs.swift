import Sotto
import SottoBytes
import SottoMedia

/// The programs of the chat and what they print.
extension ChatState {
    /// The messages of a page.
    static let pageSize = 60
    /// The messages that are printed first, without a screen.
    static let linePageSize = 20
    /// The most unread messages that are loaded with the newest page.
    static let unreadLimit = 440
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
        refreshes.formUnion([
            .conversations, .contacts, .requests, .groups, .newest, .waiting, .unsent,
        ])
    }

    mutating func startNews() {
        news.restart = nil
        news.id = run(
            .news, "history", ["--follow", "--raw", "--changes", "--limit", "1", "--json"])
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
            if let mailTrouble, status?.text == Self.noMail(mailTrouble) { status = nil }
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
                receptionTrouble = nil
                noteReached(line.pieces(between: "reconnected to ").last.map(String.init))
            } else if line.contains("not decrypted here") {
                receiveAgain()
            }
        case .again where stage == 0: break
        case .mail, .again:
            if let cause = Words.cause([line]), line.contains("error:") { complain(cause) }
        case .sender:
            if let cause = Words.cause([line]), line.contains("error:") || line.contains("warning:")
            {
                complain(cause)
            }
        default: break
        }
    }

    // MARK: Ends

    mutating func takeEnd(_ id: Pipeline.ID, _ statuses: [Int32]) {
        guard var run = running.removeValue(forKey: id) else { return }
        run.statuses = statuses
        if run.status != 0, run.isOfLock { noteLock() }
        // A text that is typed meanwhile must not become a passphrase.
        let asks = run.isOfLock && run.job.isAction && editor.isEmpty && subject == nil
        defer {
            if run.isRefused { leaveCommand(run.command) }
            if isLocked, asks { askPassphrase() }
        }
        switch run.job {
        case .lockStatus: endLockStatus(run)
        case .unlockStatus: endUnlockStatus(run)
        case .trial: endTrial(run)
        case .resolve(let who): endResolving(who, run)
        case .news: endNews(run)
        case .mail: endMail(run)
        case .again: refreshes.formUnion([.newest, .requests])
        case .sender: endSender(run)
        case .making(let making): endMaking(making, run)
        case .claim(let making): endClaim(making, run)
        case .outbox: endOutbox(run)
        case .change(let success, let request): endChange(success, request, run)
        case .fetch(let number): endFetching(number, run)
        case .save: endSaving(run)
        case .overlay(let title): endOverlay(title, run)
        case .messages(let query): endMessages(query, run)
        case .facts(let subject): endFacts(subject, run)
        case .copy: endCopy(run)
        case .sync: break
        case .marking(let key, let number): endMarking(key, number, run)
        case .previews(let numbers): previews.take(run.lines, of: numbers)
        case .conversations, .page, .unread:
            endReading(run)
            beginRest()
        case .contacts, .requests, .groups, .members, .waiting, .unsent, .later, .refresh,
            .changed:
            endReading(run)
        }
    }

    private mutating func endChange(_ success: String, _ request: String?, _ run: Running) {
        if run.status == 0 {
            say(success)
        } else {
            refuse(run.advice, status: run.status)
            // /accept NAME means the request that was refused.
            if let request {
                askRequests()
                questions.bringForward(.request(id: request))
            }
        }
        refreshes.formUnion([.contacts, .conversations, .requests, .groups, .newest])
    }

    private mutating func endFetching(_ number: Int64, _ run: Running) {
        guard run.status == 0 else {
            let later = run.isStopped ? "; to save the file: sotto save \(number)" : ""
            return refuse(run.advice + later, status: run.status)
        }
        self.run(.save(number), "history", ["save", "-q", "\(number)"])
    }

    private mutating func endSaving(_ run: Running) {
        guard run.status == 0 else { return refuse(run.advice, status: run.status) }
        say("saved as \(String(decoding: run.lines.first ?? [], as: UTF8.self))")
    }

    private mutating func endMarking(_ key: ConversationKey, _ number: Int64, _ run: Running) {
        // The messages are marked also if a receipt was not encrypted.
        guard run.statuses.first == 0 else {
            if conversation?.key == key { conversation?.hasUnmarked = false }
            if !isLocked { refuse("not marked as read: \(run.cause)", status: run.status) }
            return
        }
        if conversation?.key == key { conversation?.mark(upTo: number) }
        refreshes.insert(.conversations)
        markSeen()
    }

    private mutating func endNews(_ run: Running) {
        news.id = nil
        // Status 1: there is no message yet.
        if run.status > 1, !isLocked, !isFinishing { complain(run.cause) }
        restart(\.news)
    }

    /// Starts a service again, later after each attempt.
    private mutating func restart(
        _ service: WritableKeyPath<ChatState, Service>, least: Int64 = 1
    ) {
        guard ending == nil else { return }
        let delay = max(least, Int64(1) << min(self[keyPath: service].attempts, 6))
        self[keyPath: service].attempts += 1
        self[keyPath: service].restart = Timestamp(seconds: now.seconds + min(delay, 60))
    }

    /// The words for mail that another program receives.
    static let elsewhere =
        "another recv receives the mail: a message is shown here when decrypt has opened it"

    private static func noMail(_ cause: String) -> String { "no mail is received: \(cause)" }

    private mutating func endMail(_ run: Running) {
        (mail.id, receptionTrouble) = (nil, nil)
        guard !isLocked else { return }
        let isOther = run.errors.contains {
            $0.contains("another recv is running") || $0.contains("took over its mailbox")
        }
        if isOther {
            if !isReceivedElsewhere {
                tell(Self.elsewhere)
            }
            isReceivedElsewhere = true
            mailTrouble = nil
            // The other one can end at any time.
            mail.attempts = 0
            return restart(\.mail, least: 10)
        }
        isReceivedElsewhere = false
        if mailTrouble == nil, !isFinishing, ending == nil {
            complain(Self.noMail(run.cause))
        }
        mailTrouble = run.cause
        restart(\.mail)
    }

    private mutating func endSender(_ run: Running) {
        sender.id = nil
        if run.status != 0, !isFinishing { complain(run.cause) }
        // With these, the outbox has what was not sent.
        outgoing.end(isDone: [0, 15, 75].contains(run.status))
        if !outgoing.isEmpty { restart(\.sender) }
        refreshes.insert(.newest)
    }

    // MARK: The outbox

    /// Sends what waits in the outbox. A sender that runs knows only the lines that it was given.
    mutating func startOutbox() {
        outbox.restart = nil
        outbox.id = run(.outbox, "send", ["-q"])
    }

    private mutating func endOutbox(_ run: Running) {
        outbox.id = nil
        // The sender can hold the queue; then it tells the trouble.
        if run.status == 75 {
            for line in run.errors {
                guard line.contains(": error: "), !line.contains("another send holds"),
                    let cause = Words.cause([line])
                else { continue }
                relayTroubles.note(error: cause)
            }
        }
        refreshes.formUnion([.waiting, .newest])
        restart(\.outbox)
    }

    /// Notes that a relay is reached again: what waits is sent now.
    mutating func noteReached(_ relay: String?) {
        let hadTrouble = relayTroubles.end(relay)
        if hadTrouble || isReconnecting, outbox.restart != nil { outbox.restart = now }
    }

    /// Whether the trouble of recv is about a relay.
    func isReceptionTrouble(of relay: String) -> Bool {
        receptionTrouble?.pieces(between: relay).dropFirst()
            .contains { $0.first?.isNumber != true } ?? false
    }
}
