import Glibc
import SottoBytes
import SottoChat

/// Standard input, as keys or as lines.
protocol ChatInput {
    /// The descriptor to wait for, or -1 at the end.
    var polled: pollfd { get }

    /// The time after which ``take(isReadable:_:)`` has work although nothing is readable, in milliseconds.
    var milliseconds: Int64? { get }

    /// Reads what is there, and adds the events. `secretly` tells that text can be a passphrase. Returns whether the terminal was
    /// closed.
    mutating func take(isReadable: Bool, secretly: Bool, _ events: inout [ChatEvent]) -> Bool
}

/// No input, after a signal.
struct NoInput: ChatInput {
    let polled = pollfd(fd: -1, events: 0, revents: 0)
    let milliseconds: Int64? = nil

    func take(isReadable: Bool, secretly: Bool, _ events: inout [ChatEvent]) -> Bool { false }
}

/// The keys of the terminal.
struct KeyInput: ChatInput {
    /// The time after which an escape is the key Esc, in milliseconds.
    private static let pause: Int64 = 50

    private var decoder = KeyDecoder()
    private var isClosed = false
    private var last: Int64 = 0

    var polled: pollfd {
        pollfd(fd: isClosed ? -1 : RawTerminal.descriptor, events: Int16(POLLIN), revents: 0)
    }

    var milliseconds: Int64? {
        decoder.isPending ? max(0, last + Self.pause - MonotonicTime.milliseconds()) : nil
    }

    mutating func take(isReadable: Bool, secretly: Bool, _ events: inout [ChatEvent]) -> Bool {
        if isReadable { read(secretly: secretly, &events) }
        if milliseconds == 0 { add(decoder.flush(), &events) }
        return isClosed
    }

    /// The bytes of one read. They can have a passphrase, so they are wiped.
    nonisolated(unsafe) private static let block = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 4 << 10, alignment: 1)

    private mutating func read(secretly: Bool, _ events: inout [ChatEvent]) {
        let block = Self.block
        let count = Glibc.read(RawTerminal.descriptor, block.baseAddress, block.count)
        if count > 0 {
            last = MonotonicTime.milliseconds()
            add(decoder.decode(block[..<count], secretly: secretly), &events)
            wipe(block)
        } else if count == 0 || errno != EAGAIN && errno != EINTR {
            // The signal of a closed terminal comes only to the session that it controls.
            isClosed = true
        }
    }

    private func add(_ inputs: [TerminalInput], _ events: inout [ChatEvent]) {
        for input in inputs {
            switch input {
            case .key(let key): events.append(.key(key))
            case .paste(let text): events.append(.paste(text))
            case .secret(let text): events.append(.typed(text))
            }
        }
    }
}

/// The lines of standard input.
struct LineInput: ChatInput {
    private var lines = LineBuffer(limit: 1 << 20)
    private var isClosed = false

    let milliseconds: Int64? = nil

    var polled: pollfd { pollfd(fd: isClosed ? -1 : 0, events: Int16(POLLIN), revents: 0) }

    mutating func take(isReadable: Bool, secretly: Bool, _ events: inout [ChatEvent]) -> Bool {
        guard isReadable else { return false }
        var block = [UInt8](repeating: 0, count: 64 << 10)
        let count = Glibc.read(0, &block, block.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return false }
        if count > 0 {
            lines.take(block[..<count]) {
                events.append(.entered(String(decoding: $0, as: UTF8.self)))
            }
        } else {
            lines.end { events.append(.entered(String(decoding: $0, as: UTF8.self))) }
            isClosed = true
            events.append(.inputEnded)
        }
        return false
    }
}
