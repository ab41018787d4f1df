import Glibc
import SottoBytes

/// Moves bytes between pipes and memory at the same time, so that no pipe needs a capacity.
struct PipeTransfer {
    /// A way of bytes: from a pipe or from memory, to a pipe or into memory.
    struct Channel {
        /// The bytes that are not written yet.
        private var waiting: ArraySlice<UInt8>
        private let from: PipeEnds?
        private let to: PipeEnds?
        private let observe: ((ArraySlice<UInt8>) -> Void)?
        /// The bytes that were read and go to no pipe.
        private(set) var received: [UInt8] = []

        /// Writes bytes to a pipe.
        init(_ bytes: [UInt8], to: PipeEnds) { self.init(bytes[...], nil, to, nil) }

        /// Reads a pipe into memory. `observe` gets the bytes at once.
        init(from: PipeEnds, observe: ((ArraySlice<UInt8>) -> Void)? = nil) {
            self.init([], from, nil, observe)
        }

        /// Copies a pipe to another one. `observe` gets the bytes before they are written.
        init(from: PipeEnds, to: PipeEnds, observe: @escaping (ArraySlice<UInt8>) -> Void) {
            self.init([], from, to, observe)
        }

        private init(
            _ waiting: ArraySlice<UInt8>, _ from: PipeEnds?, _ to: PipeEnds?,
            _ observe: ((ArraySlice<UInt8>) -> Void)?
        ) {
            (self.waiting, self.from, self.to, self.observe) = (waiting, from, to, observe)
            if let to { _ = fcntl(to.writing, F_SETFL, O_NONBLOCK) }
        }

        /// The descriptor to wait for, or -1 at the end.
        fileprivate var awaited: pollfd {
            if !waiting.isEmpty, let to, to.writing >= 0 {
                return pollfd(fd: to.writing, events: Int16(POLLOUT), revents: 0)
            }
            return pollfd(fd: from?.reading ?? -1, events: Int16(POLLIN), revents: 0)
        }

        /// Writes what the pipe takes now, and closes it at the end. A program that ended needs no more input, and the
        /// one before it learns this by a closed pipe.
        fileprivate mutating func write() {
            guard let to, to.writing >= 0 else { return }
            while !waiting.isEmpty {
                let count = waiting.withUnsafeBytes {
                    Glibc.write(to.writing, $0.baseAddress, $0.count)
                }
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return }
                guard count > 0 else {
                    waiting = []
                    from?.closeReading()
                    break
                }
                waiting = waiting.dropFirst(count)
            }
            if from.map({ $0.reading < 0 }) ?? true { to.closeWriting() }
        }

        fileprivate mutating func read(_ block: inout [UInt8]) {
            guard let from, waiting.isEmpty, from.reading >= 0 else { return }
            let count = Glibc.read(from.reading, &block, block.count)
            guard count > 0 else {
                if count == 0 || errno != EINTR { from.closeReading() }
                return
            }
            observe?(block[..<count])
            if to == nil {
                received += block[..<count]
            } else {
                waiting = Array(block[..<count])[...]
            }
        }
    }

    private(set) var channels: [Channel]

    init(_ channels: [Channel] = []) { self.channels = channels }

    /// Adds a way.
    mutating func add(_ channel: Channel) { channels.append(channel) }

    /// Returns when all is written, and all sources are at their ends, or when `isReached` is true after some bytes moved.
    mutating func run(until isReached: () -> Bool = { false }) {
        var block = [UInt8](repeating: 0, count: 64 << 10)
        defer { wipe(&block) }
        while !isReached() {
            for index in channels.indices { channels[index].write() }
            // poll(2) ignores closed descriptors, which are -1.
            var polled = channels.map(\.awaited)
            guard polled.contains(where: { $0.fd >= 0 }) else { return }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            for (index, item) in polled.enumerated() where item.revents != 0 {
                channels[index].read(&block)
            }
        }
    }
}
