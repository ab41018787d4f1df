import Foundation
import Sotto
import SottoBytes
import SottoProgram
import Testing

@testable import SottoChat

/// A chat whose tools are answers that the test gives.
///
/// A pipeline that is not answered runs until the test gives its output or its end.
struct ChatStage {
    typealias Answer = (lines: [String], status: Int32)

    static let alice = "05" + String(repeating: "a1", count: 32)
    static let bob = "05" + String(repeating: "b0", count: 32)
    static let carol = "05" + String(repeating: "ca", count: 32)
    static let group = String(repeating: "6b", count: 32)
    /// 2026-11-26 09:30 UTC, a Thursday.
    static let morning: Int64 = 1_795_685_400

    private(set) var state: ChatState
    private(set) var now = Self.morning
    private(set) var uptime: Int64 = 0
    /// Whether the terminal takes what is painted.
    var isPainted = true
    /// The answers by the beginning of `tool argument argument…`; the longest beginning counts.
    var answers: [String: Answer] = [
        "keygen unlock --status": (["no passphrase"], 0),
        "history list": ([], 1), "contact list": ([], 1), "contact requests": ([], 1),
        "group list": ([], 1), "history read": ([], 0), "history page": ([], 1),
        "send --list": ([], 0), "history unsent": ([], 1),
    ]
    /// A conversation whose pages, marks and place in the list are answered from it.
    var history: StoredConversation?
    /// The pipelines that were started and have not ended.
    private(set) var running: [Pipeline] = []
    /// All commands that were started, as lines.
    private(set) var commands: [String] = []
    /// The number of pipelines that were started with a passphrase.
    private(set) var withPassphrase = 0
    private(set) var written: [Pipeline.ID: String] = [:]
    private(set) var effects: [ChatEffect] = []

    init(
        columns: Int = 60, rows: Int = 16, who: String? = nil, form: ChatOptions.Form = .screen,
        pictures: Bool = true
    ) {
        var options = ChatOptions(now: Timestamp(seconds: Self.morning)) { ChatStage.utc($0) }
        (options.columns, options.rows, options.who, options.form) = (columns, rows, who, form)
        (options.notifies, options.showsPictures) = (true, pictures)
        options.isInteractive = form == .screen
        state = ChatState(options)
    }

    /// Returns the parts of a time in UTC.
    static func utc(_ time: Timestamp) -> ChatOptions.LocalTime {
        let text = time.description
        func part(_ start: Int, _ count: Int) -> Int {
            Int(text.dropFirst(start).prefix(count)) ?? 0
        }
        let days = Int(time.seconds / 86_400)
        return ChatOptions.LocalTime(
            year: part(0, 4), month: part(5, 2), day: part(8, 2), hour: part(11, 2),
            minute: part(14, 2),
            weekday: (days + 4) % 7)
    }

    // MARK: Events

    mutating func start() {
        perform(state.start())
        paint()
    }

    mutating func give(_ events: ChatEvent...) {
        perform(state.take(.ticked(Timestamp(seconds: now), uptime: uptime)))
        for event in events { perform(state.take(event)) }
        paint()
    }

    /// Shows the screen in a terminal that takes it at once.
    mutating func paint() {
        if isPainted { perform(state.take(.shown(state.screen().shown))) }
    }

    mutating func type(_ text: String) { give(.key(.text(text))) }

    mutating func press(_ keys: Key...) { for key in keys { give(.key(key)) } }

    mutating func enter(_ text: String) {
        type(text)
        press(.enter)
    }

    mutating func wait(_ seconds: Int64 = 1) {
        (now, uptime) = (now + seconds, uptime + seconds * 1000)
        give()
    }

    /// Lets some milliseconds pass, at the end of a second of the system clock.
    mutating func waitOverSecond(milliseconds: Int64) {
        (now, uptime) = (now + 1, uptime + milliseconds)
        give()
    }

    /// Gives lines of the output of the running pipeline whose command begins with a text.
    mutating func print(_ command: String, _ lines: String...) {
        guard let pipeline = pipeline(command) else { return }
        for line in lines { give(.printed(pipeline.id, line: Array(line.utf8))) }
    }

    mutating func say(_ command: String, stage: Int = 0, _ line: String) {
        if let pipeline = pipeline(command) { give(.said(pipeline.id, stage: stage, line: line)) }
    }

    mutating func end(_ command: String, _ statuses: Int32...) {
        guard let pipeline = pipeline(command) else { return }
        running.removeAll { $0.id == pipeline.id }
        give(.ended(pipeline.id, statuses: statuses))
    }

    /// Ends a pipeline.
    mutating func finish(_ pipeline: Pipeline, _ status: Int32) {
        running.removeAll { $0.id == pipeline.id }
        give(.ended(pipeline.id, statuses: pipeline.stages.map { _ in status }))
    }

    /// Gives a record of a message that was stored.
    mutating func store(_ record: String) { print("history --follow", record) }

    /// The envelopes that were written to the sender.
    var sent: String { pipeline("send").flatMap { written[$0.id] } ?? "" }

    /// Ends the tool that makes a record, after `encrypt` has printed the envelope of the message with a number.
    mutating func make(_ command: String, _ number: Int64) {
        print(command, Self.envelope(number))
        end(command, 0, 0)
    }

    private func pipeline(_ command: String) -> Pipeline? {
        let found = running.last { Self.words($0).hasPrefix(command) }
        if found == nil { Issue.record("\(command) does not run: \(running.map(Self.words))") }
        return found
    }

    private static func words(_ pipeline: Pipeline) -> String {
        let words = pipeline.stages.map { ([$0.tool] + $0.arguments).joined(separator: " ") }
        return words.joined(separator: " | ").replacing(ToolRun.secretSource, "@FD:N")
            .replacing("/dev/fd/\(Pipeline.confirmations)", "/dev/fd/N")
    }

    private mutating func perform(_ effects: [ChatEffect]) {
        self.effects += effects
        var waiting = effects[...]
        while let effect = waiting.popFirst() {
            switch effect {
            case .start(let pipeline, let passphrase):
                if passphrase != nil { withPassphrase += 1 }
                let words = Self.words(pipeline)
                commands.append(words)
                let key = answers.keys.filter { words.hasPrefix($0) }.max { $0.count < $1.count }
                let stored = history?.answer(pipeline.stages[0])
                guard let answer = stored ?? key.flatMap({ answers[$0] }) else {
                    running.append(pipeline)
                    continue
                }
                for line in answer.lines {
                    self.perform(state.take(.printed(pipeline.id, line: Array(line.utf8))))
                }
                self.perform(
                    state.take(
                        .ended(pipeline.id, statuses: pipeline.stages.map { _ in answer.status })))
            case .write(let id, let bytes):
                written[id, default: ""] += String(decoding: bytes, as: UTF8.self)
            default: break
            }
        }
    }

    // MARK: What is seen

    var screen: String { state.screen().text }

    /// The screens that were shown, each after its title.
    private(set) var frames = ""

    /// Adds the present screen to those that ``compare(_:_:)`` compares.
    mutating func show(_ title: String, _ location: SourceLocation = #_sourceLocation) {
        check(location)
        let screen = state.screen()
        let cursor = screen.cursor.map { "cursor \($0.row),\($0.column)" } ?? "no cursor"
        frames += "==== \(title) (\(cursor))\n"
        let lines = screen.text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, (row, line)) in zip(screen.rows, lines).enumerated() {
            let isMarked = index > 0 && row.contains { $0.style.isReversed }
            frames += line + (isMarked ? "  <selected>" : "") + "\n"
        }
    }

    /// Adds the commands that were started since the last time, or those that begin with a text.
    mutating func showCommands(_ title: String, only beginning: String = "") {
        let shown = commands.filter { $0.hasPrefix(beginning) }
        frames += "==== \(title)\n" + shown.map { "$ \($0)\n" }.joined()
        commands = []
    }

    /// Forgets the commands that were started.
    mutating func forgetCommands() { commands = [] }

    /// Compares the screens with the file in Screens. With SOTTO_SCREENS=write in the environment it writes the file, to be
    /// read before it is committed.
    func compare(_ name: String, _ location: SourceLocation = #_sourceLocation) {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Screens/\(name).txt")
        if ProcessInfo.processInfo.environment["SOTTO_SCREENS"] == "write" {
            try? Data(frames.utf8).write(to: file)
        }
        let known = (try? Data(contentsOf: file)).map { String(decoding: $0, as: UTF8.self) }
        #expect(known == frames, "the screens are\n\(frames)", sourceLocation: location)
    }

    /// Checks that no row is too wide, that the cursor is inside, and that nothing can move it.
    func check(_ location: SourceLocation = #_sourceLocation) {
        #expect(state.screen().isSound, "\(screen)", sourceLocation: location)
    }
}

// MARK: Records

extension ChatStage {
    static func time(_ minutes: Int64) -> String {
        Timestamp(seconds: morning + minutes * 60).description
    }

    /// A message of bob and alice, or of the group.
    static func message(
        _ number: Int64, from: String = bob, _ text: String = "", minutes: Int64? = nil,
        in group: String? = nil,
        body: String? = nil, _ more: String = ""
    ) -> String {
        let isOwn = from == alice
        let time = time(minutes ?? number - 60)
        let name = isOwn ? "me" : from == bob ? "bob" : "carol"
        let text = String(decoding: JSON.string(text).serialized(), as: UTF8.self)
        let place = group.map { #""group":"\#($0)""# } ?? #""to":"\#(isOwn ? bob : alice)""#
        return """
            {"v":1,"type":"message","id":"\(id(number))","from":"\(from)","name":"\(name)",\(place),\
            "time":"\(time)","suite":"ratchet","authenticated":true,"trust":"trusted",\
            "body":\(body ?? #"{"type":"text","text":\#(text)}"#),"number":\(number),\
            "direction":"\(isOwn ? "sent" : "received")","received":"\(time)"\(more.isEmpty ? "" : ",")\(more)}
            """
    }

    static func id(_ number: Int64) -> String {
        "00000000-0000-4000-8000-" + String(String(1_000_000_000_000 + number).dropFirst())
    }

    /// The envelope of an own message.
    static func envelope(_ number: Int64) -> String {
        #"{"v":1,"type":"envelope","id":"\#(id(number))","to":"\#(bob)","payload":"x"}"#
    }

    /// The result of send for an own message.
    static func result(
        _ number: Int64, _ status: String, _ reason: String? = nil, relay: String? = nil
    ) -> String {
        let reason = reason.map { #","reason":"\#($0)""# } ?? ""
        let relay = relay.map { #","relay":"\#($0)""# } ?? ""
        return
            #"{"v":1,"type":"result","id":"\#(id(number))","to":"\#(bob)","status":"\#(status)"\#(reason)\#(relay)}"#
    }

    /// A line of the outbox.
    static func queued(_ number: Int64, relay: String? = nil, to: String = bob) -> String {
        let relay = relay.map { #","relay":"\#($0)""# } ?? ""
        return
            #"{"v":1,"type":"queued","id":"\#(id(number))","to":"\#(to)","kind":"envelope"\#(relay)}"#
    }

    /// A signal of a person, in a group or not.
    static func signal(
        _ type: String, _ state: String, from: String = bob, in group: String? = nil
    ) -> String {
        let group = group.map { #","group":"\#($0)""# } ?? ""
        return
            #"{"v":1,"type":"message","from":"\#(from)","body":{"type":"\#(type)","state":"\#(state)"\#(group)}}"#
    }

    /// Whether a tool was asked to stop.
    func isStopped(_ command: String) -> Bool {
        guard let pipeline = running.last(where: { Self.words($0).hasPrefix(command) }) else {
            return false
        }
        return effects.contains { if case .stop(pipeline.id) = $0 { true } else { false } }
    }

    /// The lines for standard error.
    var warnings: [String] {
        effects.compactMap { if case .warn(let line) = $0 { line } else { nil } }
    }

    static func contact(_ id: String, _ name: String, _ more: String = "") -> String {
        #"{"v":1,"type":"contact-entry","name":"\#(name)","id":"\#(id)","trust":"trusted","blocked":false,"added":"\#(time(0))","card":"sotto:x","uses":"ratchet"\#(more.isEmpty ? "" : ",")\#(more)}"#
    }

    static func conversation(
        _ id: String, _ name: String, unread: Int = 0, _ last: String = "hi", _ more: String = ""
    ) -> String {
        let kind = id.count == 64 ? "group" : "with"
        return
            #"{"v":1,"type":"conversation","\#(kind)":"\#(id)","name":"\#(name)","unread":\#(unread),"read":0,"favourite":false,"muted":false,"time":"\#(time(-5))","last":{"number":1,"direction":"received","time":"\#(time(-5))","body":{"type":"text","text":"\#(last)"}}\#(more.isEmpty ? "" : ",")\#(more)}"#
    }

    static func groupRecord(
        _ name: String, _ more: String = #""standing":"member","rank":"owner""#,
        visibility: String = "joined"
    ) -> String {
        #"{"v":1,"type":"group","id":"\#(group)","name":"\#(name)","members":3,"policy":{"add":"admin","edit":"admin","post":"member","pin":"moderator","visibility":"\#(visibility)","relays":[]},"changes":3,"state":"00",\#(more)}"#
    }

    /// A stage with the contacts bob and carol, and the conversation with bob open.
    static func withBob(
        columns: Int = 60, rows: Int = 16, unread: Int = 0, _ page: [String] = [],
        hasPassphrase: Bool = false
    ) -> ChatStage {
        var stage = ChatStage(columns: columns, rows: rows)
        if hasPassphrase {
            stage.answers["keygen unlock --status"] = (["unlocked until \(time(480))"], 0)
        }
        stage.answers["contact list"] = ([contact(bob, "bob"), contact(carol, "carol")], 0)
        stage.answers["history list"] = ([conversation(bob, "bob", unread: unread)], 0)
        stage.answers["history page"] = (page, page.isEmpty ? 1 : 0)
        stage.start()
        stage.wait()
        stage.press(.enter)
        return stage
    }
}

extension ChatStage {
    /// Whether the chat has ended with a status.
    func isEnded(_ status: Int32) -> Bool {
        effects.contains { if case .end(status) = $0 { true } else { false } }
    }
}

extension String {
    /// Returns the text with all occurrences of another one replaced.
    func replacing(_ text: String, _ replacement: String) -> String {
        replacingOccurrences(of: text, with: replacement)
    }
}

extension ChatStage {
    /// A stage with a stored conversation with bob, which is open: from the list, or named on the command line.
    static func with(_ history: StoredConversation, named: Bool = false, rows: Int = 12)
        -> ChatStage
    {
        var stage = ChatStage(rows: rows, who: named ? "bob" : nil)
        stage.answers["contact list"] = ([contact(bob, "bob")], 0)
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#], 0
        )
        stage.history = history
        stage.start()
        stage.wait()
        if !named { stage.press(.enter) }
        stage.wait()
        return stage
    }
}
