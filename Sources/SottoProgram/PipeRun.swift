import Glibc
public import SottoBytes

/// Tools that run at the same time, each with the output of the one before it as its input, as a shell runs a pipe with
/// `set -o pipefail`. A tool starts with its first input, or without input after the one before it succeeded: after a failure,
/// such as a question that was answered with no, the rest of the pipe does nothing.
public struct PipeRun {
    /// A tool and its arguments.
    public struct Stage: Sendable, Equatable {
        /// The name of the tool.
        public let tool: String
        /// Its arguments.
        public let arguments: [String]

        /// Creates a stage.
        public init(_ tool: String, _ arguments: [String]) {
            (self.tool, self.arguments) = (tool, arguments)
        }
    }

    /// The ends of all stages.
    public struct Result {
        /// The exit status of each stage, or 128 and the number of the signal; 0 for one that did not start.
        public let statuses: [Int32]
        /// The output of the last stage, if it was not shown.
        public let output: [UInt8]
        /// Whether the last of several stages got no input but error records, as `encrypt` prints for each line that failed.
        public let isEmpty: Bool

        /// The status of the last stage that failed, else 0. A last stage without input does not count if an earlier one
        /// failed: `send` then reports about older mail.
        public var status: Int32 {
            let earlier = statuses.dropLast().last { $0 != 0 }
            return isEmpty ? earlier ?? statuses.last ?? 0 : statuses.last { $0 != 0 } ?? 0
        }
    }

    private let stages: [Stage]
    /// The standard input of the first stage; `nil` for that of this program.
    public var input: [UInt8]?
    /// The secret for the stages whose arguments name ``ToolRun/secretSource``. The others do not get it.
    public var secret: PassedSecret?
    /// Gets what the first stage prints, in pieces, before the next stage does.
    public var observe: ((ArraySlice<UInt8>) -> Void)?
    /// The tool whose messages pass through this program, so that its standard error is no terminal; `nil` for none.
    public var relayed: String?
    /// Whether the last stage writes to the standard output of this program. Its output is not returned then.
    public var showsOutput = true

    /// Creates a pipe of at least one stage.
    public init(_ stages: [Stage]) { self.stages = stages }

    /// Runs all stages to their ends. Throws a failure with status 78 if one is not installed.
    public func run() throws(Failure) -> Result {
        var transfer = PipeTransfer()
        var children: [pid_t] = []
        var ended: [pid_t: Int32] = [:]
        func status(of child: pid_t) -> Int32 {
            if let known = ended[child] { return known }
            let status = ProgramEnd(of: child).status
            ended[child] = status
            return status
        }
        var source: PipeEnds?
        var (isEmpty, beginning) = (stages.count > 1, LineBeginning())
        do throws(Failure) {
            if let input {
                let stdin = try PipeEnds()
                transfer.add(.init(input, to: stdin))
                source = stdin
            }
            for (place, stage) in stages.enumerated() {
                let isLast = place == stages.count - 1
                let output = isLast && showsOutput ? nil : try PipeEnds()
                let messages = stage.tool == relayed ? try PipeEnds() : nil
                let child = try start(stage, from: source, to: output, messages)
                children.append(child)
                source?.closeReading()
                output?.closeWriting()
                messages?.closeWriting()
                if let messages {
                    transfer.add(
                        .init(from: messages) { bytes in
                            _ = bytes.withUnsafeBytes {
                                try? Output.writeAll($0, to: 2, name: "standard error")
                            }
                        })
                }
                guard !isLast, let output else {
                    if let output { transfer.add(.init(from: output)) }
                    break
                }
                let next = try PipeEnds()
                var hasOutput = false
                let isObserved = place == 0
                let isForLast = place == stages.count - 2
                transfer.add(
                    .init(from: output, to: next) { [observe] bytes in
                        hasOutput = true
                        if isObserved { observe?(bytes) }
                        if isForLast, isEmpty { isEmpty = beginning.isOfErrors(bytes) }
                    })
                source = next
                transfer.run { hasOutput }
                guard hasOutput || status(of: child) == 0 else { break }
            }
        } catch {
            // The stages that run find their pipes closed.
            (source, transfer) = (nil, PipeTransfer())
            for child in children { _ = status(of: child) }
            throw error
        }
        transfer.run()
        let isWhole = children.count == stages.count
        let statuses = children.map { status(of: $0) }
        return Result(
            statuses: statuses + stages.dropFirst(children.count).map { _ in 0 },
            output: showsOutput || !isWhole ? [] : transfer.channels.last?.received ?? [],
            isEmpty: isEmpty)
    }

    private func start(
        _ stage: Stage, from source: PipeEnds?, to output: PipeEnds?, _ messages: PipeEnds?
    ) throws(Failure) -> pid_t {
        var start = ProgramStart(tool: stage.tool, stage.arguments)
        if let source { start.descriptors.append((0, .descriptor(source.reading))) }
        if let output { start.descriptors.append((1, .descriptor(output.writing))) }
        if let messages { start.descriptors.append((2, .descriptor(messages.writing))) }
        let isTold = stage.arguments.contains(ToolRun.secretSource)
        return try start.startTool(stage.tool, secret: isTold ? secret : nil)
    }
}

/// The beginning of a line of a pipe, to tell error records from other lines.
private struct LineBeginning {
    private static let error = Array(#"{"v":1,"type":"error","#.utf8)
    private var bytes: [UInt8] = []

    /// Takes the next bytes. Returns whether all lines so far are error records.
    mutating func isOfErrors(_ next: ArraySlice<UInt8>) -> Bool {
        for byte in next {
            if byte == UInt8(ascii: "\n") {
                bytes = []
            } else if bytes.count < Self.error.count {
                bytes.append(byte)
                guard Self.error.starts(with: bytes) else { return false }
            }
        }
        return true
    }
}
