import Glibc
import SottoProgram

/// The exit status and the output of a program.
package struct Run: Sendable {
    /// The exit status, or 128 plus the number of the signal that killed it, as in a shell.
    package let status: Int32
    package let stdout: [UInt8]
    package let stderr: String

    package init(status: Int32, stdout: [UInt8], stderr: String) {
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
    }

    package var wasKilled: Int32? { status > 128 ? status - 128 : nil }
    package var text: String { String(decoding: stdout, as: UTF8.self) }
    package var lines: [String] { text.split(separator: "\n").map(String.init) }
}

/// The input of a program.
package struct Feed: Sendable {
    let bytes: [UInt8]
    let pieceSize: @Sendable (Int) -> Int

    /// All bytes, in as few writes as possible.
    package static func whole(_ bytes: [UInt8]) -> Feed { Feed(bytes: bytes) { _ in 64 << 10 } }

    /// One byte per write. Of more than 128 KiB only the first and the last 64 KiB are written so, and the bytes
    /// between them in parts of 4093 bytes.
    package static func singly(_ bytes: [UInt8]) -> Feed {
        let count = bytes.count
        return Feed(bytes: bytes) { offset in
            let edge = 64 << 10
            return offset < edge || offset >= count - edge
                ? 1 : min(4093, count - edge - offset)
        }
    }

    /// Parts of this size.
    package static func pieces(_ bytes: [UInt8], of size: Int) -> Feed {
        Feed(bytes: bytes) { _ in size }
    }
}

/// Running programs, connected by pipes: stdin is fed, stdout and each stderr are collected.
package final class Pipeline {
    private var children: [pid_t] = []
    private var stdin: Int32
    private var stdout: Int32
    private var errors: [Int32] = []
    private var collected: [UInt8] = []
    private var said: [[UInt8]]
    private let deadline = now() + 180
    private let last: Command?

    /// Starts the programs. With `hasReader` false, the last one writes to a pipe that is closed from the start.
    package init(_ commands: [Command], hasReader: Bool = true) throws {
        let first = try makePipe()
        stdin = first.write
        var input = first.read
        stdout = -1
        last = commands.last
        said = commands.map { _ in [] }
        for (index, command) in commands.enumerated() {
            let output = try makePipe()
            let error = try makePipe()
            let isClosed = !hasReader && index == commands.count - 1
            if isClosed { close(output.read) }
            children.append(
                try command.spawn([
                    (0, .descriptor(input)), (1, .descriptor(output.write)),
                    (2, .descriptor(error.write)),
                ]))
            for descriptor in [input, output.write, error.write] { close(descriptor) }
            errors.append(error.read)
            input = isClosed ? -1 : output.read
        }
        stdout = input
        for descriptor in [stdin] {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        for child in children {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        for descriptor in [stdin, stdout] + errors where descriptor >= 0 { close(descriptor) }
    }

    /// Writes bytes, and returns when the programs have taken them into their pipe.
    package func feed(_ feed: Feed) throws {
        try pump(feed) { false }
    }

    /// Closes stdin.
    package func endInput() {
        if stdin >= 0 { close(stdin) }
        stdin = -1
    }

    /// Closes our end of stdout, like a reader that needs no more.
    package func closeOutput() {
        if stdout >= 0 { close(stdout) }
        stdout = -1
    }

    /// Sends a signal to the first program.
    package func signal(_ number: Int32) { kill(children[0], number) }

    /// Copies the memory of one of the programs, 0 for the first.
    package func memory(of index: Int) -> ProcessMemory { ProcessMemory(of: children[index]) }

    /// Collects output until `isEnough` returns true for all collected output, or the output ends.
    package func collect(until isEnough: ([UInt8]) -> Bool = { _ in false }) throws {
        try pump(nil) { isEnough(self.collected) }
    }

    /// Collects output until `isEnough` returns true for the first program's stderr, or everything ends.
    package func collectErrors(until isEnough: (String) -> Bool) throws {
        try pump(nil) { isEnough(String(decoding: self.said[0], as: UTF8.self)) }
    }

    /// Closes stdin, collects the rest and waits. Returns one result for each program, with stdout in the last.
    package func finish() throws -> [Run] {
        endInput()
        try pump(nil) { false }
        let results = children.enumerated().map { index, child in
            Run(
                status: ProgramEnd(of: child).status,
                stdout: index == children.count - 1 ? collected : [],
                stderr: String(decoding: said[index], as: UTF8.self))
        }
        children = []
        if let last { PrintedRecords.collect(collected, of: last) }
        return results
    }

    /// Transfers bytes until the feed is in the pipe or, without a feed, until every output has ended.
    private func pump(_ feed: Feed?, isEnough: () -> Bool) throws {
        var offset = 0
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let feed, offset == feed.bytes.count || stdin < 0 { return }
            if isEnough() { return }
            var polls: [pollfd] = []
            if feed != nil { polls.append(pollfd(fd: stdin, events: Int16(POLLOUT), revents: 0)) }
            for descriptor in [stdout] + errors where descriptor >= 0 {
                polls.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            }
            if polls.isEmpty { return }
            guard now() < deadline else { throw Timeout() }
            poll(&polls, nfds_t(polls.count), 1000)
            for item in polls where item.revents != 0 {
                if item.fd == stdin, let feed {
                    try put(feed, &offset)
                } else if item.fd == stdout {
                    if let count = get(item.fd, &block) {
                        collected += block[..<count]
                    } else {
                        closeOutput()
                    }
                } else if let index = errors.firstIndex(of: item.fd) {
                    if let count = get(item.fd, &block) {
                        said[index] += block[..<count]
                    } else {
                        close(item.fd)
                        errors[index] = -1
                    }
                }
            }
        }
    }

    /// Writes until the pipe is full. A program that has closed its input needs no more.
    private func put(_ feed: Feed, _ offset: inout Int) throws {
        while offset < feed.bytes.count {
            let size = min(feed.pieceSize(offset), feed.bytes.count - offset)
            let count = feed.bytes.withUnsafeBytes {
                write(stdin, $0.baseAddress! + offset, size)
            }
            if count < 0 {
                if errno == EAGAIN { return }
                if errno == EPIPE {
                    endInput()
                    return
                }
                throw SystemError("write")
            }
            offset += count
        }
    }

    private func get(_ descriptor: Int32, _ block: inout [UInt8]) -> Int? {
        let count = read(descriptor, &block, block.count)
        return count > 0 ? count : nil
    }

    package struct Timeout: Error {}
}

private func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

extension Command {
    /// Runs the program to its end.
    package func run(stdin: Feed = .whole([])) throws -> Run {
        try Command.pipeline([self], stdin: stdin)[0]
    }

    /// Runs programs as a pipeline to their end. Returns one result for each, with stdout in the last.
    package static func pipeline(_ commands: [Command], stdin: Feed = .whole([])) throws -> [Run] {
        let pipeline = try Pipeline(commands)
        try pipeline.feed(stdin)
        return try pipeline.finish()
    }
}
