/// The purpose of a pipeline.
enum Job: Sendable, Hashable {
    case lockStatus
    /// Whether the identity is locked, for /unlock.
    case unlockStatus
    /// Tries a passphrase.
    case trial
    case resolve(String)
    /// Everything that is stored, as it comes.
    case news
    /// Receives and decrypts.
    case mail
    /// Decrypts what was received before and is not decrypted.
    case again
    /// Sends envelopes.
    case sender
    case page(ConversationKey, before: Int64?)
    /// The first unread messages, if they are too many to be loaded with the newest ones.
    case unread(ConversationKey)
    /// The messages after one, if newer ones are not loaded.
    case later(ConversationKey, after: Int64)
    /// The newest messages again.
    case refresh(ConversationKey)
    /// The messages that changed.
    case changed(ConversationKey)
    case conversations
    case contacts
    case requests
    case groups
    case members(String)
    /// Lists what waits in the outbox.
    case waiting
    /// Lists the own messages that reached no outbox.
    case unsent
    case sync
    /// Makes and encrypts records.
    case making(Making)
    /// Claims a bundle of a contact's prekeys for the text that needs it, which is made again then.
    case claim(Making)
    /// Sends what waits in the outbox and was not given to the sender.
    case outbox
    /// Changes something here; the text tells its success. `request` is the sender of a message request that is accepted.
    case change(String, request: String? = nil)
    /// Fetches the file of a message, then saves it.
    case fetch(Int64)
    case save(Int64)
    case overlay(String)
    /// Lists messages, one of which can be shown in the conversation.
    case messages(MessageQuery)
    /// Reads a record whose facts are shown.
    case facts(FactLines.Subject)
    /// Reads the text of a message for the clipboard.
    case copy(Int64)
    case marking(ConversationKey, Int64)
    /// Decodes the small pictures of these messages.
    case previews([Int64])

    /// Whether the program waits for it before it ends.
    var mustFinish: Bool {
        switch self {
        case .making, .claim, .change, .marking, .fetch, .save, .copy: true
        default: false
        }
    }

    /// Whether it waits for a relay, which can take long.
    var isOfRelay: Bool {
        switch self {
        case .fetch, .claim: true
        default: false
        }
    }

    /// Whether it fetches a file.
    var isFetch: Bool { if case .fetch = self { true } else { false } }

    /// Whether it runs until the chat ends.
    var isEndless: Bool { self == .news || self == .mail }

    /// Whether it reads content for the screen.
    var isReading: Bool {
        switch self {
        case .conversations, .contacts, .requests, .groups, .members, .waiting, .unsent, .page,
            .unread,
            .later, .refresh, .changed, .messages:
            true
        default: false
        }
    }

    /// Whether it marks messages as read.
    var isMarking: Bool { if case .marking = self { true } else { false } }

    /// Whether a command does nothing else.
    var isOfCommand: Bool {
        switch self {
        case .resolve, .change, .fetch, .overlay, .messages, .facts, .copy: true
        default: false
        }
    }

    /// Whether the user asked for it.
    var isAction: Bool {
        switch self {
        case .making(let making), .claim(let making): !making.isQuiet && making.tool != nil
        case .page, .later, .save: true
        default: isOfCommand
        }
    }

    /// Whether it reads a page of messages, the newest at its end.
    var isPage: Bool {
        switch self {
        case .page, .refresh: true
        default: false
        }
    }

    /// Whether its output is read as it comes.
    var isStream: Bool {
        switch self {
        case .news, .mail, .again, .sender, .outbox, .making, .sync, .marking: true
        default: false
        }
    }
}

/// A tool that makes message records, or records that another tool has made. They are encrypted.
struct Making: Sendable, Hashable {
    /// `nil` if ``input`` has the records.
    var tool: Pipeline.Stage?
    var input: String?
    /// The number of the text that is shown until it is in the history.
    var pending: Int?
    /// The command that asked for it, if no text waits for it.
    var command: TypedCommand?
    /// The words after a success.
    var success: String?
    /// The parts to read again after a success.
    var reads: Set<Refresh> = []
    /// Whether a failure is not told.
    var isQuiet = false
    /// Whether a bundle was claimed for it.
    var hasClaimed = false

    static let encryption = Pipeline.Stage("encrypt", ["-q"])

    /// Whether it sends a file.
    var isOfFile: Bool { tool?.arguments.first == "file" }

    var stages: [Pipeline.Stage] { (tool.map { [$0] } ?? []) + [Self.encryption] }
}

/// A line with a command, and the conversation in which it was typed.
struct TypedCommand: Sendable, Hashable {
    var key: ConversationKey?
    var line: String
}

/// A part of the state that can be read again.
enum Refresh: Sendable, Hashable, CaseIterable {
    case conversations, contacts, requests, groups, members, newest, changed
    /// The items that wait in the outbox, and the messages that did not reach it.
    case waiting, unsent
}

/// A pipeline that runs.
struct Running: Sendable {
    static let outputLimit = 8 << 20
    static let errorLimit = 20

    let job: Job
    /// The tools.
    let tools: [String]
    /// The command that started it.
    var command: TypedCommand?
    /// Whether a line for the sender was printed.
    var isMade = false
    /// Whether it was stopped at the end, because the relay did not answer in time.
    var isStopped = false
    var lines: [[UInt8]] = []
    var size = 0
    /// Whether a line was dropped, because the output is too long.
    var isCut = false
    var errors: [String] = []
    /// The statuses of the tools, once all have ended.
    var statuses: [Int32] = []

    init(_ job: Job, tools: [String]) { (self.job, self.tools) = (job, tools) }

    static let lockCause = "the identity is locked: /unlock"

    /// Whether the tool found the identity locked.
    var isOfLock: Bool { errors.contains { $0.contains("is locked, and no terminal") } }

    /// The place of the tool that failed; of several the last one with a status above 1: 1 is a negative result, as of a tool
    /// without input.
    private var failed: Int? { statuses.lastIndex { $0 > 1 } ?? statuses.lastIndex { $0 != 0 } }

    /// The status of the tool that failed, or 0.
    var status: Int32 { failed.map { isStopped ? 75 : statuses[$0] } ?? 0 }

    /// Whether encrypt needs a bundle of the recipient's prekeys to begin a session.
    var needsBundle: Bool { errors.contains { $0.contains("no prekey bundle to begin one") } }

    /// Whether the action failed, so that its command can be corrected. Status 1 of a tool that reads is an empty result.
    var isRefused: Bool { status > (job.isReading ? 1 : 0) && !isMade }

    /// The lines of the tool that failed. A tool before it ends because its reader is gone.
    private var ownErrors: [String] {
        let place = failed ?? 0
        guard tools.indices.contains(place) else { return errors }
        let others = tools.filter { $0 != tools[place] }
        return errors.filter { line in !others.contains { line.hasPrefix("\($0): ") } }
    }

    /// The cause of a failure in words.
    var cause: String {
        if isOfLock { return Self.lockCause }
        if isStopped { return "the relay did not answer before the end" }
        if let cause = Words.cause(ownErrors) { return cause }
        let place = failed ?? 0
        guard tools.indices.contains(place), statuses.indices.contains(place) else {
            return "a tool ended"
        }
        return "\(tools[place]) ended with status \(statuses[place])"
    }

    /// The cause of a failure, and the hint of the tool.
    var advice: String {
        guard !isOfLock, !isStopped, let hint = Words.hint(ownErrors) else { return cause }
        return "\(cause); \(Self.words.first { hint.contains($0.hint) }?.words ?? hint)"
    }

    /// The words for hints that name options of a tool, by a part of the hint.
    private static let words: [(hint: String, words: String)] = [
        ("--attach ", "/file sends it as a file"),
        ("give a name: ", "give another name with /accept NAME"),
        ("prints on both sides", "use the number that /verify shows on both sides"),
        ("--anyway", "the chat does not send it; use encrypt --anyway in another terminal"),
    ]

    mutating func add(_ line: [UInt8]) {
        let line = job.isReading ? RecordLine.mended(line) : line
        // After a line that was dropped none is kept: messages that are read later would have a gap.
        guard job.isPage || !isCut && size + line.count < Self.outputLimit else {
            isCut = true
            return
        }
        size += line.count + 1
        lines.append(line)
        // A page loses its earliest messages: they are read when the user scrolls there.
        while size > Self.outputLimit {
            size -= lines.removeFirst().count + 1
            isCut = true
        }
    }

    mutating func say(_ line: String) {
        if errors.count < Self.errorLimit { errors.append(String(line.prefix(1_000))) }
    }
}
