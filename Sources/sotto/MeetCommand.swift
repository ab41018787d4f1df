import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto meet`: makes a verified contact with a spoken code, using the other tools.
struct MeetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "meet",
        abstract: "Make a verified contact with a code that one person says to the other.",
        usage: "sotto meet [--name NAME] [--relay URL] [CODE]",
        discussion: """
            Runs recv --meeting new | contact meet | send, or with the other person's CODE recv --meeting NUMBER | contact \
            meet --code @FD:N | send. Without CODE it asks for one on a terminal; Enter makes a new one. Both have the \
            other as a verified contact then. Other users of this machine can see an argument while the program runs; a \
            code is valid once, for ten minutes.

            EXAMPLES
              sotto meet
              sotto meet 417-orbit-velvet-sunset
              sotto meet 417-orbit-velvet-sunset@relay.example.org
            """)

    @Option(
        "--name", value: "name",
        help: "The name of the new contact. Default: the name on the card.", values: .any)
    var name: String?

    @Option(
        "--relay", value: "url",
        help:
            "The relay of the meeting. Default: the one in the code, else $SOTTO_RELAY, else yours."
    )
    var relay: String?

    @OptionGroup var identity: SharedIdentityOptions

    @Argument("code", help: "The code that the other person says.")
    var code: String?

    func execute() throws {
        let code = try code ?? askForCode()
        let run = try MeetingRun(.contact, "meet", code: code.isEmpty ? nil : code)
        try run.meet((name.map { ["--name", $0] } ?? []) + identity.words, relay: relay)
    }

    private func askForCode() throws -> String {
        guard Terminal.isTerminal(0), Terminal.isTerminal(2) else { return "" }
        let answer = try Terminal.ask("Code, or Enter to make one: ", secret: false)
        return answer.withBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// The three programs of a meeting and the pipes between them.
struct MeetingRun {
    /// The tool whose command meets the other side.
    private let tool: Tool
    private let command: String
    private let code: String?
    private let received: PipeEnds
    private let sent: PipeEnds
    private let ready: PipeEnds

    init(_ tool: Tool, _ command: String, code: String?) throws(Failure) {
        (self.tool, self.command, self.code) = (tool, command, code)
        received = try PipeEnds()
        sent = try PipeEnds()
        ready = try PipeEnds()
    }

    /// Runs the programs to their ends. Throws the failure of the first one that failed, and not of one that another one ended.
    func meet(_ options: [String], relay: String?) throws(Failure) {
        // The code is checked and the identity is open before anything is sent.
        let contact = try startContact(options)
        guard let own = readyRelay() else { throw Failure.ended(contact.wait(), tool.rawValue) }
        // Control-C ends recv. contact notices it and ends the meeting on both sides, and send sends that.
        signal(SIGINT, SIG_IGN)
        let receiver = try startReceiver(relay, own: own)
        let sender = try startSender()
        for pipe in [received, sent] {
            pipe.closeReading()
            pipe.closeWriting()
        }
        let ends = Ends(contact, receiver, sender)
        signal(SIGINT, SIG_DFL)
        if [ends[contact], ends[receiver]].contains(128 + SIGINT) { raise(SIGINT) }
        if ends.first == sender.id { throw Failure.ended(ends[sender], "send") }
        // The receiver is ended when the meeting failed before its end.
        if ends[contact] != 0, ![0, 128 + SIGPIPE, 128 + SIGTERM].contains(ends[receiver]) {
            throw Failure.ended(ends[receiver], "recv")
        }
        if ends[contact] != 0 { throw Failure.ended(ends[contact], tool.rawValue) }
        if ends[sender] != 0 { throw Failure.ended(ends[sender], "send") }
    }

    /// The exit statuses of the programs. A program that fails ends those before it in the pipe, which cannot notice it while
    /// they wait; those after it end at the end of their input, and `send` still sends the end of the meeting.
    private struct Ends {
        private var statuses: [Int32: Int32] = [:]
        /// The program that failed first.
        private(set) var first: Int32?

        /// Waits for all programs.
        init(_ contact: Child, _ receiver: Child, _ sender: Child) {
            let before = [contact.id: [receiver], sender.id: [receiver, contact]]
            while statuses.count < 3, let (id, status) = Self.next() {
                statuses[id] = status
                guard status != 0 else { continue }
                first = first ?? id
                for other in before[id] ?? [] where statuses[other.id] == nil {
                    kill(other.id, SIGTERM)
                }
            }
        }

        subscript(child: Child) -> Int32 { statuses[child.id] ?? 127 }

        /// Waits for the next program that ends.
        private static func next() -> (id: Int32, status: Int32)? {
            var status: Int32 = 0
            while true {
                let id = waitpid(-1, &status, 0)
                if id > 0 { return (id, ProgramEnd(waitStatus: status).status) }
                guard id < 0, errno == EINTR else { return nil }
            }
        }
    }

    private func startContact(_ options: [String]) throws(Failure) -> Child {
        var arguments = [command, "--ready-fd", "\(ready.writing)"] + options
        var secret: PassedSecret?
        if let code {
            guard code.utf8.count < 4096 else { throw Failure(.malformed, "the code is too long") }
            secret = PassedSecret(SecretBytes(copying: Array(code.utf8)))
            arguments += ["--code", ToolRun.secretSource]
        }
        var starting = ProgramStart(tool: tool.rawValue, arguments)
        // A descriptor that keeps its number is inherited.
        starting.descriptors = [
            (0, .descriptor(received.reading)), (1, .descriptor(sent.writing)),
            (ready.writing, .descriptor(ready.writing)),
        ]
        let child = Child(id: try starting.startTool(tool.rawValue, secret: secret))
        ready.closeWriting()
        return child
    }

    /// Waits until `contact` is ready. Returns the relay of the identity, empty if it has none, or `nil` if `contact` ended.
    private func readyRelay() -> String? {
        var (line, byte) = ([UInt8](), UInt8(0))
        while true {
            let count = read(ready.reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    private func startReceiver(_ relay: String?, own: String) throws(Failure) -> Child {
        var place = "new"
        var relay = relay
        if let code {
            // contact has read the code, and so what surrounds it is what people paste.
            let parts = code.split(separator: "@", maxSplits: 1)
            let digits = Character("0")...Character("9")
            place = String(
                parts[0].drop { !digits.contains($0) }.prefix { digits.contains($0) })
            if parts.count > 1, relay == nil {
                place += "@" + parts[1].prefix { $0.isASCII && !" \t\n>\"'".contains($0) }
            }
        }
        if relay == nil, !own.isEmpty, environmentVariable("SOTTO_RELAY") == nil { relay = own }
        if place.contains("@") { relay = nil }
        var receiving = ProgramStart(
            tool: "recv", ["--meeting", place] + (relay.map { ["--relay", $0] } ?? []))
        receiving.defaultSignals += [SIGINT]
        receiving.descriptors = [
            (0, .file("/dev/null", O_RDONLY)), (1, .descriptor(received.writing)),
        ]
        return Child(id: try receiving.startTool("recv"))
    }

    private func startSender() throws(Failure) -> Child {
        var sending = ProgramStart(tool: "send", ["-q"])
        sending.descriptors = [
            (0, .descriptor(sent.reading)), (1, .file("/dev/null", O_WRONLY)),
        ]
        return Child(id: try sending.startTool("send"))
    }

    private struct Child {
        let id: Int32

        func wait() -> Int32 { ProgramEnd(of: id).status }
    }
}
