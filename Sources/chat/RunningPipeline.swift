import Glibc
import SottoBytes
import SottoChat
import SottoProgram

/// A pipeline whose tools run. No call waits for them.
final class RunningPipeline {
    /// The largest number of bytes of a line of standard output.
    private static let longestLine = 1 << 20
    /// The largest number of bytes of a line of standard error.
    private static let longestMessage = 4 << 10
    /// The largest number of bytes that wait for the first tool.
    private static let longestInput = 1 << 20
    /// The number of bytes that one call of ``advance(_:)`` takes from each stream, so that keys never wait for a flood.
    private static let block = 64 << 10

    private struct Child {
        /// The process id, or 0 for a tool that was not started.
        let process: pid_t
        /// The exit status, or `nil` while the tool runs.
        var status: Int32?
    }

    /// An output of a tool.
    private struct Stream {
        let pipe: PipeEnds
        var lines: LineBuffer
        /// Makes an event of a line.
        let event: ([UInt8]) -> ChatEvent
    }

    private let id: Pipeline.ID
    private var children: [Child] = []
    private var streams: [Stream] = []
    private var input: PipeEnds?
    private var waiting: ArraySlice<UInt8> = []
    private var isInputEnding = false
    /// The events of the start, for the next call of ``advance(_:)``.
    private var earlier: [ChatEvent] = []

    /// Whether the pipeline reads what ``write(_:)`` gives.
    let takesInput: Bool

    /// Starts the tools. `secret` is for a stage whose arguments name ``ToolRun/secretSource``. A tool that cannot be started has an
    /// event with the reason, and the status of that failure.
    init(_ pipeline: Pipeline, secret: PassedSecret? = nil) {
        (id, takesInput) = (pipeline.id, pipeline.takesInput)
        var source: PipeEnds?
        for (place, stage) in pipeline.stages.enumerated() {
            do throws(Failure) {
                if place == 0, takesInput {
                    let pipe = try PipeEnds()
                    (input, source) = (pipe, pipe)
                }
                source = try start(
                    stage, at: place, of: pipeline, from: source,
                    secret: stage.arguments.contains(ToolRun.secretSource) ? secret : nil)
            } catch {
                children.append(Child(process: 0, status: error.status.rawValue))
                earlier.append(.said(id, stage: place, line: error.message))
                source = nil
            }
        }
        if let source { add(source, Self.longestLine) { [id] in .printed(id, line: $0) } }
        input?.closeReading()
        if let input { _ = fcntl(input.writing, F_SETFL, O_NONBLOCK) }
    }

    /// Starts a stage that reads `source`. Returns the pipe of its standard output.
    private func start(
        _ stage: Pipeline.Stage, at place: Int, of pipeline: Pipeline, from source: PipeEnds?,
        secret: PassedSecret?
    ) throws(Failure) -> PipeEnds {
        let (output, errors) = (try PipeEnds(), try PipeEnds())
        let confirmations = place == pipeline.confirmingStage ? try PipeEnds() : nil
        var start = ProgramStart(tool: stage.tool, stage.arguments)
        start.descriptors = [
            (0, source.map { .descriptor($0.reading) } ?? .file("/dev/null", O_RDONLY)),
            (1, .descriptor(output.writing)), (2, .descriptor(errors.writing)),
        ]
        if let confirmations {
            start.descriptors.append(
                (Pipeline.confirmations, .descriptor(confirmations.writing)))
        }
        start.group = .session
        start.endsWithParent = pipeline.endsWithChat
        // Handlers are not inherited, and a signal that the parent process ignores stays ignored.
        let process = try start.startTool(stage.tool, secret: secret)
        children.append(Child(process: process, status: nil))
        source?.closeReading()
        for pipe in [output, errors, confirmations] { pipe?.closeWriting() }
        add(errors, Self.longestMessage) { [id] in
            .said(id, stage: place, line: String(decoding: $0, as: UTF8.self))
        }
        if let confirmations {
            add(confirmations, Self.longestLine) { [id] in .confirmed(id, line: $0) }
        }
        return output
    }

    private func add(_ pipe: PipeEnds, _ limit: Int, _ event: @escaping ([UInt8]) -> ChatEvent) {
        _ = fcntl(pipe.reading, F_SETFL, O_NONBLOCK)
        streams.append(Stream(pipe: pipe, lines: LineBuffer(limit: limit), event: event))
    }

    /// The descriptors to wait for; those that are closed are -1, which poll(2) ignores.
    var polled: [pollfd] {
        streams.map { pollfd(fd: $0.pipe.reading, events: Int16(POLLIN), revents: 0) } + [
            pollfd(
                fd: waiting.isEmpty ? -1 : input?.writing ?? -1, events: Int16(POLLOUT), revents: 0)
        ]
    }

    /// Whether all tools have ended. What they wrote is then read without waiting.
    private var isOver: Bool { children.allSatisfy { $0.status != nil } }

    /// Whether ``advance(_:)`` has work without waiting for a descriptor.
    var isReady: Bool { isOver || !earlier.isEmpty }

    /// Reads a part of what the tools wrote, and writes what waits for the first one. Returns whether all is read and written
    /// after the end of all tools; the last event is then ``ChatEvent/ended(_:statuses:)``.
    func advance(_ events: inout [ChatEvent]) -> Bool {
        write()
        events += earlier
        earlier = []
        let isOver = isOver
        var block = [UInt8](repeating: 0, count: Self.block)
        for place in streams.indices { read(place, isOver: isOver, &block, &events) }
        guard isOver, streams.allSatisfy({ $0.pipe.reading < 0 }) else { return false }
        input?.closeWriting()
        events.append(.ended(id, statuses: children.map { $0.status ?? 0 }))
        return true
    }

    /// Reads a part of a stream. A process that outlives its tool can hold the pipe open, so a stream without bytes ends with the
    /// tools.
    private func read(
        _ place: Int, isOver: Bool, _ block: inout [UInt8], _ events: inout [ChatEvent]
    ) {
        let pipe = streams[place].pipe
        guard pipe.reading >= 0 else { return }
        let make = streams[place].event
        let count = Glibc.read(pipe.reading, &block, block.count)
        if count > 0 {
            streams[place].lines.take(block[..<count]) { events.append(make($0)) }
        } else if count == 0 || errno != EINTR && (errno != EAGAIN || isOver) {
            streams[place].lines.end { events.append(make($0)) }
            pipe.closeReading()
        }
    }

    /// Takes bytes for the first tool. What does not fit is dropped, with an event that says so.
    func write(_ bytes: [UInt8]) {
        guard let input, input.writing >= 0, !isInputEnding else { return }
        guard waiting.count + bytes.count <= Self.longestInput else {
            earlier.append(.said(id, stage: 0, line: "the tool does not read its input"))
            return
        }
        waiting += bytes
        write()
    }

    /// Closes the input when all bytes are written.
    func closeInput() {
        isInputEnding = true
        write()
    }

    private func write() {
        guard let input, input.writing >= 0 else { return }
        while !waiting.isEmpty {
            let count = waiting.withUnsafeBytes {
                Glibc.write(input.writing, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else {
                waiting = []
                input.closeWriting()
                return
            }
            waiting = waiting.dropFirst(count)
        }
        waiting = []
        if isInputEnding { input.closeWriting() }
    }

    /// Sends a signal to the tools that run, and to the processes that they started.
    func signal(_ number: Int32) {
        for child in children where child.status == nil { kill(-child.process, number) }
    }

    /// Takes the statuses of the tools that ended.
    func reap() {
        for place in children.indices where children[place].status == nil {
            var status: Int32 = 0
            let ended = waitpid(children[place].process, &status, WNOHANG)
            if ended > 0 {
                children[place].status = ProgramEnd(waitStatus: status).status
            } else if ended < 0, errno != EINTR {
                children[place].status = 127
            }
        }
        stopWithoutReader()
    }

    /// Ends the tools before one that has ended: nothing reads what they write.
    private func stopWithoutReader() {
        guard let last = children.lastIndex(where: { $0.status != nil }) else { return }
        for child in children[..<last] where child.status == nil {
            kill(-child.process, SIGTERM)
        }
    }
}
