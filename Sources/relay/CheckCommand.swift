import Arguments
import Sotto
import SottoServer
import SottoTool
import SottoWire

/// `relay check`: reports the problems of a configuration before it is used.
struct CheckCommand: Program {
    static let configuration = CommandConfiguration(
        name: "check",
        abstract: "Report problems with a relay's options and its machine.",
        usage:
            "sotto relay check --store FILE [--listen HOST:PORT] [--name HOST:PORT ...] [--accept-clock] [--json]",
        discussion: """
            It takes the options of a relay, and changes nothing unless --accept-clock is given. Each line begins with \
            ok, warning or error; with an error the exit status is 78. A relay that runs with the store is no error.

            EXAMPLES
              sotto relay check --listen 0.0.0.0:7667 --name relay.example.org:7667 --store r.db
            """)

    @OptionGroup var relay: RelayTool

    @Flag("--json", help: "Print each line as a JSON record.")
    var json = false

    @Flag(
        "--accept-clock",
        help: "Accept this machine's clock as right, so that the relay deletes expired mail.")
    var acceptClock = false

    mutating func execute() throws {
        let plan = try relay.plan()
        if acceptClock {
            try MemberStore.check(plan.store)
            try StoreClock.accept(in: StoreLocation(plan.store))
        }
        let store = StoreChecks(path: plan.store)
        var findings = AddressChecks.findings(
            plan, willMakeCertificate: relay.tls.willMake, isRunning: store.isInUse)
        findings += store.findings()
        findings += MachineChecks.findings(plan)
        if let finding = store.clock() { findings.append(finding) }
        let output = try Output(path: nil, content: .text)
        for finding in findings {
            if json {
                try output.writeRecord(finding.record)
            } else {
                try output.writeText(finding.line + "\n")
            }
        }
        try output.finish()
        let errors = findings.count { $0.level == .error }
        if errors > 0 {
            throw Failure(
                .configuration, "the check found \(errors) \(errors == 1 ? "error" : "errors")")
        }
    }
}

/// The result of one check.
struct Finding {
    /// The severity of a finding.
    enum Level: String {
        /// Everything is right.
        case ok
        /// The relay works, but perhaps not as intended.
        case warning
        /// The relay would not start, or could lose messages.
        case error
    }

    let level: Level
    /// The subject of the check, in one word.
    let topic: String
    let text: String

    init(_ level: Level, _ topic: String, _ text: String) {
        self.level = level
        self.topic = topic
        self.text = text
    }

    /// The finding as a line of text.
    var line: String {
        "\(level.rawValue) \(topic): \(text.replacingAll("\n", with: "\\n"))"
    }

    /// The finding as a JSON record.
    var record: JSONObject {
        [
            "v": .integer(1), "type": .string("check"), "level": .string(level.rawValue),
            "topic": .string(topic), "text": .string(text),
        ]
    }
}
