import Arguments
import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

struct MeetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "meet",
        abstract: "Make a verified contact with a spoken code: one side of a meeting.",
        usage: "sotto contact meet [--code SOURCE] [--name NAME]",
        discussion: """
            Reads the records of recv --meeting and prints records for send. Without --code it makes a code of a number and \
            three words and shows it; the other person joins with it. Both have the other as a verified contact then. A \
            wrong code ends the meeting on both sides, with 14. sotto meet runs the whole pipe.

            EXAMPLES
              sotto recv --meeting new | sotto contact meet | sotto send
              sotto recv --meeting 417 | sotto contact meet --code @FD:3 3< code | sotto send
            """)

    @Option(
        "--code", value: "source",
        help: "The code that the other person said: @ENV:NAME, @FD:N or @FILE:PATH.")
    var code: SecretSource?

    @Option(
        "--name", value: "name",
        help: "The name of the new contact. Default: the name on the card.", values: .any)
    var name: String?

    @Option(
        "--ready-fd", value: "fd",
        help:
            "Write your relay and a line feed to this descriptor when the code and the identity are read.",
        values: .any)
    var readyDescriptor: Int32?

    @OptionGroup var options: ContactOptions

    func validate() throws { try code?.validate() }

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        let code = try readCode()
        let open = try options.open()
        let newcomer = MetContact(name: name, open: open, options: options)
        try newcomer.checkName()
        try sayReady(open.identity)
        let table = try MeetingTable(holdsInterrupt: readyDescriptor != nil)
        switch (code, table.first) {
        case (_, .message(.end)): throw Failure(MeetingEnd.byOther)
        case (nil, .place): try newcomer.initiate(at: table)
        case (let code?, .message(let offer)): try newcomer.join(offer, with: code, at: table)
        case (_?, .place):
            throw Failure(
                .usage, "the code is for joining a meeting, and this place is new",
                hint: "omit --code to make a new code, or give the number of the code to recv")
        case (nil, .message):
            throw Failure(
                .usage, "the code of the meeting is missing",
                hint: "give it with --code @FD:N, or run sotto meet")
        }
    }

    /// Reads the code before the network is used: a code with a wrong word must not spend a try.
    private func readCode() throws -> HeardCode? {
        guard let code else { return nil }
        let secret = try code.read()
        return HeardCode(
            try secret.withBytes { bytes throws(MeetingCodeError) in
                try MeetingCode(parsing: String(decoding: bytes, as: UTF8.self))
            })
    }

    private func sayReady(_ identity: Identity) throws {
        guard let readyDescriptor else { return }
        let line = Array("\(identity.relay ?? "")\n".utf8)
        let count = line.withUnsafeBytes { write(readyDescriptor, $0.baseAddress, $0.count) }
        guard count == line.count else {
            throw Failure(errno: errno, "write", "descriptor \(readyDescriptor)")
        }
        close(readyDescriptor)
    }
}

/// A code that the other person said.
final class HeardCode {
    let code: MeetingCode

    init(_ code: consuming MeetingCode) { self.code = code }
}

/// The two pipes of a meeting: records of the other side come in, records of this side go out.
final class MeetingTable {
    /// The number of the place, and the address of its relay.
    let number: Int64
    let relay: RelayURL
    /// The content of the first record.
    let first: MeetingRecord.Content
    private var lines: LineReader
    private let output: Output

    /// Waits for the first record. Throws a failure with status 1 if the input is empty. With `holdsInterrupt`, Control-C has
    /// no effect here from then until ``releaseInterrupt()``: in a pipe of `sotto meet` it ends `recv`, and so the input, and
    /// the other side gets the end of the meeting.
    init(holdsInterrupt: Bool) throws {
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

    /// Gives Control-C its effect again, before a question to the user.
    func releaseInterrupt() { Self.setInterrupt(SIG_UNBLOCK) }

    private static func setInterrupt(_ how: Int32) {
        var interrupt = sigset_t()
        sigemptyset(&interrupt)
        sigaddset(&interrupt, SIGINT)
        pthread_sigmask(how, &interrupt, nil)
    }

    /// Waits for the next message of the other side; `nil` at the end of the input. That and a malformed record end the
    /// meeting on both sides: the other side must not wait for a person who has left.
    func next() throws -> MeetingMessage? {
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
    func send(_ message: MeetingMessage) throws {
        try output.writeLine(
            MeetingRecord(number: number, relay: relay.text, .message(message)).record)
    }

    /// Returns the result of `body`. If it fails, the meeting is ended on both sides.
    func endingIfFailed<T: ~Copyable>(_ body: () throws -> T) throws -> T {
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
enum MeetingEnd {
    /// The other side, or another person who used the number, ended it.
    case byOther
    /// The input ended before the other person came.
    case alone
    /// The last message is missing: the other side may have the contact.
    case halfway(byOther: Bool)
}

extension Failure {
    init(_ end: MeetingEnd) {
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
    init(halfway failure: Failure) {
        self.init(
            failure.status, "\(failure.message); the other person may already have you",
            hint: failure.hint.map { "\($0); then " + Self.meetAgain } ?? Self.meetAgain)
    }

    private static let meetAgain = "begin again with a new code: sotto meet"
}
