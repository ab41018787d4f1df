import Glibc
import Sotto
import SottoBytes
import SottoChat
import SottoProgram

/// The loop around ``ChatState``: it waits for keys, tools, signals and times, gives them to the state, and does what the state
/// asks for. It has one thread, and only poll(2) waits.
struct ChatLoop {
    private var state: ChatState
    private let signals: PipeEnds
    private var pipelines: [Pipeline.ID: RunningPipeline] = [:]
    private var notifier: Notifier?
    private var windows = OpenWindows()
    private var input: any ChatInput
    private var view: ScreenView?
    /// The time of the next tick that the state wants.
    private var wake: Timestamp?
    /// The lines for standard error after the terminal is restored.
    private var warnings: [String] = []
    /// The exit status, as soon as the program is to end.
    private var status: Int32?
    /// The exit status after a signal, and the time at which the program ends without the state.
    private var interruption: (status: Int32, deadline: Int64)?
    private var failure: Failure?
    /// Whether a running `keygen unlock` has said something, and its first line.
    private var unlockMessage: String?

    /// The time in which the state ends the program after a signal, in milliseconds.
    private static let longestInterruption: Int64 = 3000

    /// The id of the run of `keygen unlock`, which the state does not start as a pipeline.
    private static let unlocking = Pipeline.ID(-1)

    /// Creates a loop that reads the numbers of signals from `signals`.
    init(_ options: ChatOptions, signals: PipeEnds, notify command: String?) {
        state = ChatState(options)
        self.signals = signals
        notifier = command.map { Notifier($0) }
        switch options.form {
        case .screen:
            input = KeyInput()
            view = ScreenView(hasColor: environmentVariable("NO_COLOR") == nil)
        case .lines: input = LineInput()
        }
    }

    /// Runs until the state ends the program. Returns the exit status.
    mutating func run() throws(Failure) -> Int32 {
        perform(state.start())
        while true {
            compareWindows()
            show()
            if let failure { throw failure }
            if let status { return status }
            if let interruption, interruption.deadline <= MonotonicTime.milliseconds() {
                return interruption.status
            }
            waitAndTake()
        }
    }

    /// Shows the screen, and tells the state what the terminal shows.
    private mutating func show() {
        view?.show(state)
        guard let shown = view?.takeShown() else { return }
        perform(state.take(.ticked(.now(), uptime: MonotonicTime.milliseconds())))
        perform(state.take(.shown(shown)))
    }

    /// Restores the terminal, prints the texts that were not sent, and ends the tools.
    ///
    /// Those that read what was typed get time to store it. ``ChatState`` has waited for them already, unless a signal ends the
    /// program.
    mutating func end() {
        RawTerminal.end()
        view = nil
        for line in warnings + state.unsentLines { Terminal.say(line) }
        for pipeline in pipelines.values {
            if pipeline.takesInput { pipeline.closeInput() } else { pipeline.signal(SIGTERM) }
        }
        drain(milliseconds: 2000)
        for pipeline in pipelines.values { pipeline.signal(SIGTERM) }
        drain(milliseconds: 500)
        for pipeline in pipelines.values { pipeline.signal(SIGKILL) }
        notifier?.stop()
        lock()
    }

    /// Locks the identity if this window or another one has unlocked it.
    private mutating func lock() {
        let isLast = windows.end()
        guard state.locking == .always || state.locking == .ifLast && isLast else { return }
        let stage = Pipeline.Stage("keygen", ["lock", "-q"])
        pipelines = [Self.unlocking: RunningPipeline(Pipeline(Self.unlocking, [stage]))]
        drain(milliseconds: 2000)
    }

    /// Tells the other windows about this one, and the state about them.
    private mutating func compareWindows() {
        switch state.locking {
        case .never: if windows.isOtherLocking { perform(state.take(.otherWindowLocks)) }
        case .ifLast: windows.noteLocking()
        case .always: break
        }
    }

    /// Waits until all tools have ended, for at most this time. What they write has no reader any more.
    private mutating func drain(milliseconds: Int64) {
        let end = MonotonicTime.milliseconds() + milliseconds
        while !pipelines.isEmpty, case let rest = end - MonotonicTime.milliseconds(), rest > 0 {
            var polled = [pollfd(fd: signals.reading, events: Int16(POLLIN), revents: 0)]
            for pipeline in pipelines.values { polled += pipeline.polled }
            _ = poll(&polled, nfds_t(polled.count), Int32(rest))
            _ = SignalPipe.numbers(from: signals)
            var ignored: [ChatEvent] = []
            for (id, pipeline) in pipelines {
                pipeline.reap()
                if pipeline.advance(&ignored) { pipelines[id] = nil }
            }
        }
    }

    /// Waits for the next events, and gives them to the state: keys first.
    private mutating func waitAndTake() {
        let running = Array(pipelines)
        var polled = [
            pollfd(fd: signals.reading, events: Int16(POLLIN), revents: 0), input.polled,
            view?.polled ?? pollfd(fd: -1, events: 0, revents: 0),
        ]
        let fixed = polled.count
        for (_, pipeline) in running { polled += pipeline.polled }
        let isReady = running.contains { $0.value.isReady }
        let count = poll(&polled, nfds_t(polled.count), isReady ? 0 : milliseconds())
        guard count >= 0 else { return }
        var events: [ChatEvent] = []
        notifier?.reap()
        if let cause = notifier?.takeFailure() { events.append(.notificationFailed(cause)) }
        if polled[0].revents != 0 { take(SignalPipe.numbers(from: signals), &events) }
        let isClosed = input.take(
            isReadable: polled[1].revents != 0, secretly: state.takesPassphrase, &events)
        if isClosed { interrupt(SIGHUP, &events) }
        give(events)
        var place = fixed
        for (id, pipeline) in running {
            let places = place..<place + pipeline.polled.count
            place = places.upperBound
            guard pipeline.isReady || polled[places].contains(where: { $0.revents != 0 }) else {
                continue
            }
            var events: [ChatEvent] = []
            if pipeline.advance(&events) { pipelines[id] = nil }
            give(events.compactMap { translated($0, of: id) })
        }
        if let wake, Timestamp.now() >= wake {
            self.wake = nil
            give([])
        }
    }

    /// The longest time to wait, in milliseconds. A clock that jumps is noticed within a minute.
    private func milliseconds() -> Int32 {
        var shortest: Int64 = 60_000
        if let wake {
            shortest = min(shortest, max(0, wake.seconds * 1000 - Timestamp.milliseconds()))
        }
        if let interruption {
            shortest = min(
                shortest, max(0, interruption.deadline - MonotonicTime.milliseconds()))
        }
        if let wait = notifier?.milliseconds { shortest = min(shortest, wait) }
        if let wait = input.milliseconds { shortest = min(shortest, wait) }
        if let wait = view?.milliseconds { shortest = min(shortest, wait) }
        return Int32(shortest)
    }

    private mutating func take(_ numbers: Set<Int32>, _ events: inout [ChatEvent]) {
        for pipeline in pipelines.values { pipeline.reap() }
        if numbers.contains(SIGTSTP) { suspend() }
        if view != nil, numbers.contains(SIGCONT) || numbers.contains(SIGWINCH) {
            if numbers.contains(SIGCONT) { RawTerminal.begin() }
            events.append(resized())
        }
        if let number = numbers.first(where: SignalPipe.endings.contains) {
            interrupt(number, &events)
        }
    }

    /// Restores the terminal, and lets the state finish what was typed. A second signal ends the program at once; that of a closed
    /// terminal comes twice.
    private mutating func interrupt(_ number: Int32, _ events: inout [ChatEvent]) {
        guard interruption == nil else {
            if number != SIGHUP { status = status ?? 128 + number }
            return
        }
        let deadline = MonotonicTime.milliseconds() + Self.longestInterruption
        interruption = (128 + number, deadline)
        RawTerminal.end()
        (view, input) = (nil, NoInput())
        events.append(.interrupted(number))
    }

    /// Gives events to the state, after the time.
    private mutating func give(_ events: [ChatEvent]) {
        perform(state.take(.ticked(.now(), uptime: MonotonicTime.milliseconds())))
        for event in events where status == nil { perform(state.take(event)) }
        view?.isChanged = true
    }

    /// The event of a pipeline for the state.
    private mutating func translated(_ event: ChatEvent, of id: Pipeline.ID) -> ChatEvent? {
        guard id == Self.unlocking else { return event }
        switch event {
        case .said(_, _, let line): unlockMessage = unlockMessage ?? line
        case .ended(_, let statuses):
            defer { unlockMessage = nil }
            return .unlocked(status: statuses[0], message: unlockMessage ?? "")
        default: break
        }
        return nil
    }

    private mutating func perform(_ effects: [ChatEffect]) {
        for effect in effects { perform(effect) }
    }

    private mutating func perform(_ effect: ChatEffect) {
        switch effect {
        case .start(let pipeline, let passphrase):
            pipelines[pipeline.id] = RunningPipeline(
                pipeline, secret: passphrase.map { PassedSecret($0.secret()) })
        case .write(let id, let bytes): pipelines[id]?.write(bytes)
        case .closeInput(let id): pipelines[id]?.closeInput()
        case .stop(let id): pipelines[id]?.signal(SIGTERM)
        case .wake(let time): wake = time
        case .ring: view?.add([0x07])
        case .notify(let name, let count): notifier?.run(name, count)
        case .unlock(let passphrase): unlock(passphrase)
        case .list(let folder):
            perform(state.take(.listed(folder: folder, names: Folder.names(folder))))
        case .copy(let text):
            view?.add(Array("\u{1B}]52;c;\(Base64.standard.encode(Array(text.utf8)))\u{07}".utf8))
        case .print(let line): print(line)
        case .warn(let line): if view == nil { Terminal.say(line) } else { warnings.append(line) }
        case .repaint: view?.forget()
        case .suspend:
            suspend()
            if view != nil { perform(state.take(resized())) }
        case .end(let number): status = status ?? number
        }
    }

    private mutating func print(_ line: String) {
        guard failure == nil else { return }
        switch writeAll(Array((line + "\n").utf8), to: 1) {
        case 0: break
        case EPIPE: failure = Failure(.closedPipe, "")
        case let code: failure = Failure(errno: code, "write", "standard output")
        }
    }

    private mutating func unlock(_ passphrase: TypedPassphrase) {
        let stage = Pipeline.Stage(
            "keygen", ["unlock", "-q", "--identity-passphrase", ToolRun.secretSource])
        pipelines[Self.unlocking] = RunningPipeline(
            Pipeline(Self.unlocking, [stage]), secret: PassedSecret(passphrase.secret()))
    }

    /// Restores the terminal, stops the program as Ctrl-Z does, and shows the screen when the program continues.
    private func suspend() {
        RawTerminal.end()
        SignalPipe.stop()
        if view != nil { RawTerminal.begin() }
    }

    /// The event of the present size; the next screen is painted whole.
    private mutating func resized() -> ChatEvent {
        view?.forget()
        let size = RawTerminal.size()
        return .resized(columns: size.columns, rows: size.rows)
    }
}

/// The clock that no user changes.
enum MonotonicTime {
    static func milliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
