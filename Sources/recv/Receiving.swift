import Sotto
import SottoBytes
import SottoClient
import SottoState
import SottoTool
import SottoWire

/// The handling of received envelopes, and the end of a run.
struct Receiving {
    /// Whether only dead letters are handled.
    let isOfDead: Bool
    let follows: Bool
    /// Seconds to wait for the next envelope.
    let wait: Double
    /// The number of envelopes after which to end; `nil` for no limit.
    let maximum: Int?
    /// The command that gets each envelope; `nil` to print them.
    let command: String?
    let quiet: Bool
    /// Whether mail is received. Without it only an invitation is redeemed.
    var takesMail = true
    /// Takes note of printed envelopes, and prints a failure before the first one.
    let failure = FailureRecord()
    /// The protocol in whose form envelopes are printed, if they have it.
    var form = RelayProtocol.own

    /// Receives, and calls `after` at the end. Throws a failure with status 1 if no envelope was handled.
    func run(
        _ reception: Reception, after: (Reception.Ending) throws -> Void = { _ in }
    ) throws {
        let handling = try handling()
        var reception = reception
        reception.follow = follows
        reception.wait = wait
        reception.maximum = maximum
        reception.takesMail = takesMail
        if !quiet { reception.notice = Self.say }
        let ending = try isOfDead ? reception.runDead(handling) : reception.run(handling)
        try after(ending)
        if ending.expired > 0, !quiet {
            Terminal.say(
                "recv: note: deleted \(ending.expired) unread: the messages before them did not arrive within \(StateTransaction.earlyDays) days"
            )
        }
        if reception.invitation != nil, ending.loggedIn, ending.error == nil,
            ending.received + ending.failed == 0
        {
            return
        }
        try Self.report(ending)
    }

    private func handling() throws -> Reception.Handling {
        if let command {
            let handler = ShellCommand(command, tool: RecvTool.toolName)
            return .run { envelope in try handler.run(line(of: envelope)) }
        }
        let output = try Output(path: nil, content: .text)
        return .print { envelopes in
            failure.hasPrinted = true
            for envelope in envelopes {
                try output.write(line(of: envelope) + [UInt8(ascii: "\n")])
            }
            try output.flush()
        }
    }

    /// Returns the line for an envelope, without a line feed.
    private func line(of envelope: [UInt8]) -> [UInt8] {
        guard form == .flow, let message = FlowWire.message(of: envelope) else { return envelope }
        return FlowWire.push(message).dropLast()
    }

    private static func say(_ notice: Reception.Notice) {
        switch notice {
        case .disconnected(let error):
            Terminal.say("recv: note: \(error.failure.message); trying again")
        case .reconnected(let relay): Terminal.say("recv: note: reconnected to \(relay)")
        case .replacesLost: Terminal.say("recv: note: \(lost)")
        case .otherInstance(let day): Terminal.say("recv: note: \(other(on: day))")
        case .behind: Terminal.say("recv: note: \(NewState.behindNote)")
        case .preKeys(let error):
            Terminal.say("recv: note: prekeys cannot be renewed: \(text(of: error)); trying again")
        }
    }

    /// The note after another instance was seen.
    private static func other(on day: Int64) -> String {
        let date = Timestamp(seconds: day * 86_400).description.prefix(10)
        return
            "the relay says that another machine, or another copy of this state, used this identity on \(date); each gets a part of the mail, and breaks the sessions of the other: use one of them only; TWO MACHINES in sotto(7) tells what to do"
    }

    /// The note after the prekeys of a lost state were replaced.
    static let lost =
        "the relay had prekeys of a state that is lost; new ones replace them, and messages that were written with the old ones cannot be opened; to tell your contacts: sotto contact repair --send"

    /// Returns the message of an error.
    static func text(of error: any Error) -> String {
        (error as? any FailureError)?.failure.message ?? "\(error)"
    }

    /// Throws the failure of a run that did not handle all envelopes, or none.
    private static func report(_ ending: Reception.Ending) throws {
        if let error = ending.error {
            guard ending.received > 0, error.isTransient else { throw error }
            throw Failure(
                .tryAgain, "\(error.failure.message); there may be more", hint: error.failure.hint)
        }
        if ending.failed > 0 {
            let what = ending.failed == 1 ? "1 envelope" : "\(ending.failed) envelopes"
            throw Failure(
                ending.received > 0 ? .partial : .tryAgain, "the command failed for \(what)",
                hint: "after five failures an envelope becomes a dead letter")
        }
        if ending.received == 0 { throw Failure(.no, "") }
    }
}
