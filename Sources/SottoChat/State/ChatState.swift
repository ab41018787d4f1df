import Sotto
import SottoBytes

/// The chat as a value: it takes events, and returns effects and a screen.
///
/// It knows nothing about messages that it does not read in the records of the tools: `history` prints what is shown, and after each
/// change the shown part is read again.
package struct ChatState: Sendable {
    /// The purpose of the typed text.
    enum Subject: Sendable, Hashable {
        case reply(Int64)
        case edit(Int64)
        case react(Int64)
        case forward(Int64)

        /// Whether it changes a message. Then the history gets no message with the id of its envelope.
        var isEdit: Bool { if case .edit = self { true } else { false } }
    }

    /// A typed text that is not in the history yet.
    struct Pending: Sendable {
        var number: Int
        var key: ConversationKey
        var text: String
        var time: Timestamp
        /// The purpose of the text, or `nil` for a new message.
        var subject: Subject?
        /// The ids of its envelopes. The history has the message with one of them.
        var ids: Set<String> = []
        /// The reason why it was not sent.
        var failure: String?
    }

    /// A program that runs all the time.
    struct Service: Sendable {
        var id: Pipeline.ID?
        var attempts = 0
        var restart: Timestamp?
    }

    /// When the identity is locked at the end of the program.
    package enum Locking: Sendable, Hashable {
        case never
        /// If no other window of this identity is open.
        case ifLast
        case always
    }

    /// The repeated reading of the fates of own messages.
    struct FateCheck: Sendable {
        /// The number of messages that wait.
        var count = 0
        /// The seconds until the next reading.
        var delay: Int64 = 0
        var next: Timestamp?
    }

    /// The prompt for the passphrase.
    struct LockPrompt: Sendable {
        var passphrase = TypedPassphrase()
        /// Whether the identity stays unlocked after the end.
        var stays = false
        /// The value before the attempt.
        var locking = Locking.never
        var isWaiting = false
        var message = ""
    }

    /// The passphrase of the identity, if the kernel keeps no keys here. It is given to each tool.
    var passphrase: TypedPassphrase?

    var options: ChatOptions
    var now: Timestamp
    /// The monotonic clock, in milliseconds.
    var uptime: Int64 = 0
    /// The time of the start.
    let started: Timestamp
    var effects: [ChatEffect] = []

    // Programs.
    var running: [Pipeline.ID: Running] = [:]
    private var lastID = 0
    var news = Service()
    var mail = Service()
    var sender = Service()
    /// What sends the messages that waited before the start or that other programs left.
    var outbox = Service()
    /// Whether the sender reads no further lines.
    var isSenderClosing = false
    /// The lines for the sender that it has not answered.
    var outgoing = Outgoing()
    /// The tools that make records run one at a time, so that the order of typing is the order of sending.
    var makings: [Making] = []
    /// The message of each conversation up to which messages are marked as read next.
    var marks: [ConversationKey: Int64] = [:]
    /// The parts to read again, and the time when each was read last.
    var refreshes: Set<Refresh> = []
    var lastRefresh: [Refresh: Timestamp] = [:]
    /// Whether another program can have erased messages, and the last number that was loaded when the history was read after that.
    var erasure: (isWanted: Bool, last: Int64?) = (false, nil)
    var fates = FateCheck()
    var nextSync: Timestamp?
    var isSyncWanted = false

    // Knowledge from records.
    var list = ChatList()
    var conversation: Conversation?
    var members: [ChatMember] = []
    var ownID = ""
    var signals: [Signal: Timestamp] = [:]
    var previews = Previews()
    var questions = Questions()
    /// The names that message requests get when they are accepted, by their id.
    var acceptedNames: [String: String] = [:]
    var pending: [Pending] = []
    var lastPending = 0
    /// The open conversation if the history has a new own message in it that was not read yet.
    var unreadOwn: ConversationKey?
    /// The names of the conversations with new messages of which the command of --notify is still to be told.
    var unnotified: [ConversationKey: String] = [:]
    /// The newest number of a message that was announced by a bell.
    var announced: Int64 = 0

    // Troubles.
    /// The relays that do not take messages.
    var relayTroubles = RelayTroubles()
    /// The reason why recv does not reach the user's own relay. recv tells it once, and tells when it is connected again.
    var receptionTrouble: String?
    /// Whether the same relay has taken a message since ``receptionTrouble``. Then recv only waits for its next attempt.
    var isReconnecting = false
    var mailTrouble: String?
    /// The ids of the messages that the list of the outbox named last.
    var queued: Set<String> = []
    /// The people for whom messages wait that name no relay.
    var stranded: Set<String> = []
    /// The numbers of own messages that did not leave this machine, of all conversations.
    var unsent: Set<Int64> = []
    var isReceivedElsewhere = false
    var isLocked = false
    /// Whether the identity has a passphrase.
    var hasPassphrase = true

    // Typed text and the screen.
    var lock: LockPrompt?
    /// Whether the loop locks the identity at the end of the program, also at an end that the state does not know.
    package internal(set) var locking = Locking.never
    var editor = LineEditor()
    var drafts: [ConversationKey: String] = [:]
    /// The command that is being done.
    var command: TypedCommand?
    var typed: [String] = []
    /// The place of the line in ``typed`` that is shown again, and the text that was typed before.
    var recalled: (place: Int, draft: String)?
    var subject: Subject?
    var overlay: Overlay?
    var status: (text: String, isAlert: Bool, until: Timestamp)?
    var completionFolder: String?
    var isInterrupted = false
    var isStarted = false
    /// Whether the first screen was read and everything runs.
    var isComplete = false
    /// The exit status, once the program is to end.
    var ending: Int32?
    /// The exit status after everything is sent, once the program ends then.
    var finishing: Int32?
    var isFinishing: Bool { finishing != nil }
    /// The time of the monotonic clock at which the program ends without waiting further, while it is to end.
    var finishLimit: Int64 = 0
    /// The time of the monotonic clock until which a person waits for relays at the end, and whether it has passed.
    var relayLimit: Int64 = 0
    var isRelayGivenUp = false
    /// The time of the monotonic clock from which the outbox is listed again at the end.
    var nextCount: Int64 = 0
    /// The status of the first line that was not sent or not done, without a screen or at the end.
    var failure: Int32?
    var isInputEnded = false
    /// Whether the outbox was listed at the end.
    var isCounted = false
    /// Whether everything was read that the lines without a screen can name, since the conversation was opened.
    var isPrepared = false
    /// The times of the last signals that a text is typed.
    var typingSignals: [ConversationKey: Timestamp] = [:]
    /// The conversation whose other side was told last that a text is typed, until it ends.
    var typingTold: (key: ConversationKey, time: Timestamp)?
    var nextPresence: Timestamp?
    private var lastWake: Timestamp?
    /// The messages that were printed in the form of lines.
    var printed: Set<Int64> = []
    /// The highest number of them.
    var lastPrinted: Int64 = 0
    /// The lines that came before the conversation was open.
    var waitingLines: [String] = []
    /// The lines that were not sent or not done, without a screen.
    var lost: [(key: ConversationKey?, text: String)] = []

    /// The activity of another person.
    struct Signal: Sendable, Hashable {
        enum Kind: String, Sendable { case typing, presence }

        var id: String
        var kind: Kind
        var key: ConversationKey?
    }

    /// Creates the state. ``start()`` gives the first effects.
    package init(_ options: ChatOptions) {
        self.options = options
        (now, started) = (options.now, options.now)
    }

    /// Returns the effects of the beginning.
    package mutating func start() -> [ChatEffect] {
        run(.lockStatus, "keygen", ["unlock", "--status"])
        return finished()
    }

    /// Takes an event. Returns its effects, in their order.
    package mutating func take(_ event: ChatEvent) -> [ChatEffect] {
        switch event {
        case .key(let key): take(key)
        case .paste(let text): paste(text)
        case .typed(let text): takeTyped(text)
        case .resized(let columns, let rows):
            (options.columns, options.rows) = (max(1, columns), max(1, rows))
        case .ticked(let time, let uptime):
            self.uptime = uptime
            tick(time)
        case .shown(let shown): notePainted(shown)
        case .entered(let line): enter(line)
        case .inputEnded: isInputEnded = true
        case .printed(let id, let line): takeOutput(id, line)
        case .confirmed(_, let line): send(line)
        case .said(let id, let stage, let line): takeError(id, stage, line)
        case .ended(let id, let statuses): takeEnd(id, statuses)
        case .listed(let folder, let names): complete(folder, names)
        case .notificationFailed(let cause): complain("--notify: \(cause)")
        case .otherWindowLocks: if locking == .never { locking = .ifLast }
        case .unlocked(let status, let message): takeUnlocking(status, message)
        case .interrupted(let number): finish(128 + number)
        }
        return finished()
    }

    /// Starts what is due, and returns the effects.
    private mutating func finished() -> [ChatEffect] {
        if ending == nil {
            if !isPreparing { isPrepared = true }
            takeWaitingLines()
            endTypingIfStopped()
            runRefreshes()
            runMakings()
            runMarkings()
            feedSender()
            runPreviews()
            endIfFinished()
        }
        if let wake = nextWake, wake != lastWake {
            effects.append(.wake(at: wake))
            lastWake = wake
        }
        defer { effects = [] }
        return effects
    }

    private mutating func takeWaitingLines() {
        guard options.form == .lines else { return }
        while let line = waitingLines.first, !mustWait(line) {
            waitingLines.removeFirst()
            if line.contains(where: { !$0.isWhitespace }) { take(line: line) }
        }
        if isInputEnded, waitingLines.isEmpty, !isPreparing, !isFinishing {
            finish(0)
        }
    }

    // MARK: Programs

    /// Starts a tool.
    @discardableResult
    mutating func run(
        _ job: Job, _ tool: String, _ arguments: [String], input: String? = nil
    ) -> Pipeline.ID {
        run(job, [Pipeline.Stage(tool, arguments)], input: input.map { Array($0.utf8) })
    }

    /// Starts a pipeline, whose input is `input` or nothing.
    @discardableResult
    mutating func run(
        _ job: Job, _ stages: [Pipeline.Stage], input: [UInt8]? = nil, staysOpen: Bool = false,
        confirmingStage: Int? = nil
    ) -> Pipeline.ID {
        lastID += 1
        let id = Pipeline.ID(lastID)
        let stages = passphrase == nil ? stages : stages.map(\.withPassphrase)
        running[id] = Running(job, tools: stages.map(\.tool))
        if job.isOfCommand { running[id]?.command = command }
        var pipeline = Pipeline(
            id, stages, takesInput: input != nil || staysOpen, confirmingStage: confirmingStage)
        pipeline.endsWithChat = job.isEndless
        effects.append(.start(pipeline, passphrase: passphrase))
        if let input, !input.isEmpty { effects.append(.write(id, input)) }
        if input != nil { effects.append(.closeInput(id)) }
        return id
    }

    func isRunning(_ job: Job) -> Bool { running.values.contains { $0.job == job } }

    // MARK: Words to the user

    /// Shows a line above the typed text for a while.
    mutating func say(_ text: String, isAlert: Bool = false) {
        let text = Cells.line(text, limit: 500)
        guard options.form == .screen else {
            effects.append(isAlert ? .warn("sotto chat: \(text)") : .print("  [\(text)]"))
            return
        }
        status = (text, isAlert, Timestamp(seconds: now.seconds + 20))
    }

    mutating func complain(_ text: String) { say(text, isAlert: true) }

    /// Tells why a typed line was not sent or not done. At the end, when the screen ends before it can be read, and without a screen,
    /// the exit status tells it too.
    mutating func refuse(_ text: String, status: Int32 = 1) {
        if options.form == .lines || isFinishing { failure = failure ?? status }
        if options.form == .screen, isFinishing {
            effects.append(.warn("sotto chat: \(Cells.line(text, limit: 500))"))
        }
        complain(text)
        leaveCommand(command)
        command = nil
    }

    /// Adds a line to the open conversation.
    mutating func tell(_ text: String) {
        guard options.form == .screen, conversation != nil else { return say(text) }
        conversation?.tell(Cells.line(text, limit: 400), at: now)
    }
}
