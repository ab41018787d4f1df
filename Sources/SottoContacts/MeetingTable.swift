import Glibc
package import Sotto
import SottoTool
package import SottoWire

/// A code that the other person said.
package final class HeardCode {
    package let code: MeetingCode

    /// Reads a code. Throws ``MeetingCodeError``.
    package init(_ secret: borrowing SecretBytes) throws(MeetingCodeError) {
        code = try secret.withBytes { bytes throws(MeetingCodeError) in
            try MeetingCode(parsing: String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// The two pipes of a meeting: records of the other side come in, records of this side go out.
package final class MeetingTable {
    /// The number of the place, and the address of its relay.
    package let number: Int64
    package let relay: RelayURL
    /// The content of the first record.
    package let first: MeetingRecord.Content
    private var lines: LineReader
    private let output: Output

    /// Waits for the first record. Throws a failure with status 1 if the input is empty. With `holdsInterrupt`, Control-C has
    /// no effect here from then until ``releaseInterrupt()``: in a pipe of `sotto meet` it ends `recv`, and so the input, and
    /// the other side gets the end of the meeting.
    package init(holdsInterrupt: Bool) throws {
        let output = try Output(path: nil, content: .text)
        var lines = LineReader(try Input(path: nil), limit: 2 * MeetingMessage.limit)
        guard let record = try Self.next(&lines) else { throw Failure(.no, "") }
        do throws(RelayURL.Invalid) {
            relay = try RelayURL(record.relay)
        } catch {
            throw Failure(.malformed, "the relay address of the meeting \(error.reason)")
        }
        (number, first) = (record.number, record.content)
        self.lines = lines
        self.output = output
        if holdsInterrupt { Self.setInterrupt(SIG_BLOCK) }
    }

    /// Writes the relay of the owner and a line feed to a descriptor, and closes it: the code and the identity were read.
    package static func sayReady(_ relay: String?, to descriptor: Int32) throws(Failure) {
        let line = Array("\(relay ?? "")\n".utf8)
        let count = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == line.count else {
            throw Failure(errno: errno, "write", "descriptor \(descriptor)")
        }
        close(descriptor)
    }

    /// Gives Control-C its effect again, before a question to the user.
    package func releaseInterrupt() { Self.setInterrupt(SIG_UNBLOCK) }

    private static func setInterrupt(_ how: Int32) {
        var interrupt = sigset_t()
        sigemptyset(&interrupt)
        sigaddset(&interrupt, SIGINT)
        pthread_sigmask(how, &interrupt, nil)
    }

    /// Waits for the next message of the other side; `nil` at the end of the input. That and a malformed record end the
    /// meeting on both sides: the other side must not wait for a person who has left.
    package func next() throws -> MeetingMessage? {
        try endingIfFailed {
            guard let record = try Self.next(&lines) else {
                try? send(.end)
                return nil
            }
            guard record.number == number, case .message(let message) = record.content else {
                throw Failure(.malformed, "the records are of several meetings")
            }
            return message
        }
    }

    private static func next(_ lines: inout LineReader) throws -> MeetingRecord? {
        while let line = try lines.next() {
            guard case .line(let bytes) = line else {
                throw Failure(.malformed, "a record of the meeting is too long")
            }
            if bytes.allSatisfy({ $0 <= 0x20 }) { continue }
            let record = try JSON.object(parsing: bytes)
            if let failure = Failure(errorRecord: record) { throw failure }
            do throws(FieldError) {
                return try MeetingRecord(record)
            } catch .member(let name) {
                throw Failure(
                    .malformed, "not a record of a meeting: \"\(name)\" is missing or malformed")
            }
        }
        return nil
    }

    /// Prints a message of this side.
    package func send(_ message: MeetingMessage) throws {
        try output.writeLine(
            MeetingRecord(number: number, relay: relay.text, .message(message)).record)
    }

    /// Prints a record for `send` that is no message of the meeting.
    package func send(record: JSONObject) throws { try output.writeLine(record) }

    /// Returns the result of `body`. If it fails, the meeting is ended on both sides.
    package func endingIfFailed<T: ~Copyable>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            // The reason is more important than a closed pipe.
            try? send(.end)
            throw error
        }
    }
}

/// The ways in which a meeting ends without a contact.
package enum MeetingEnd {
    /// The other side, or another person who used the number, ended it.
    case byOther
    /// The input ended before the other person came.
    case alone
    /// The last message is missing: the other side may have the contact.
    case halfway(byOther: Bool)
}

extension Failure {
    package init(_ end: MeetingEnd) {
        let again = Self.meetAgain
        switch end {
        case .byOther:
            self.init(
                .mismatch,
                "the meeting was ended: the codes differ, another person tried, or the other side refused",
                hint: again)
        // recv has said why.
        case .alone: self.init(.no, "")
        case .halfway(let byOther):
            self.init(
                byOther ? .mismatch : .no,
                "the other person's card did not arrive; the other person may already have you",
                hint: again)
        }
    }

    /// The failure of the side that has the other person's card and cannot store it. The other person may have this side.
    package init(halfway failure: Failure) {
        self.init(
            failure.status, "\(failure.message); the other person may already have you",
            hint: failure.hint.map { "\($0); then " + Self.meetAgain } ?? Self.meetAgain)
    }

    private static let meetAgain = "begin again with a new code: sotto meet"
}

extension RelayURL {
    /// `HOST` or `HOST:PORT` for the long form of a code, or `nil` for a relay behind a web server, which needs more.
    package var meetingAddress: String? {
        guard path == "/" else { return nil }
        let port = ":7667"
        return name.hasSuffix(port) ? String(name.dropLast(port.count)) : name
    }
}
