import SottoBytes
import SottoClient
import SottoTool
import SottoWire

/// What `send` prints of its results: a record for each, or for people one line at the end.
struct SendReport {
    private let output: Output
    private let form: SendForm
    private var sent: Set<String> = []
    /// The last reason of each relay for not taking an item now.
    private var reasons: [String: String] = [:]

    /// Creates a report on standard output.
    init(_ form: SendForm) throws {
        output = try Output(path: nil, content: .text)
        self.form = form
    }

    /// Prints a record, if records are printed.
    func print(_ record: JSONObject) throws {
        if !form.isText { try write { () throws(Failure) in try output.writeRecord(record) } }
    }

    /// Prints or counts a result.
    mutating func add(_ result: DeliveryResult) throws {
        if let refusal = result.refusal, let relay = result.relay {
            reasons[relay] = Reason(rawValue: refusal.reason)?.words ?? refusal.reason
        }
        try print(result.record)
        guard form.isText else { return }
        switch result.status {
        case .stored, .duplicate, .accepted: sent.insert(result.id)
        case .queued, .deferred, .rejected, .dropped, .expired, .unknown: break
        }
        guard form.namesIDs, !form.isQuiet else { return }
        let reason = result.refusal.map { " (\($0.reason))" } ?? ""
        try write { () throws(Failure) in
            try output.writeText("\(result.status.rawValue) \(result.id)\(reason)\n")
        }
    }

    /// Counts a message of a meeting, which has no other result.
    mutating func add(posted record: JSONObject) throws {
        try print(record)
        if let id = record["id"]?.string { sent.insert(id) }
    }

    /// Writes what was printed so far.
    func flush() throws { try write { () throws(Failure) in try output.flush() } }

    /// Writes, and tells after a failure that the command is not to be repeated.
    private func write(_ work: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) { try work() } catch {
            throw error.afterWork("what was read was sent, or waits: sotto send --list")
        }
    }

    /// Ends the output. `isComplete` tells that nothing waits, so that no error follows which counts what was sent.
    func finish(isComplete: Bool) throws {
        try write { () throws(Failure) in
            if form.isText, isComplete, !form.isQuiet, !sent.isEmpty {
                try output.writeText(sent.count == 1 ? "sent\n" : "\(sent.count) sent\n")
            }
            try output.finish()
        }
    }

    /// Returns the words about `left` items that a relay did not take, for an error: after what was sent, if people read it.
    func message(left: Int, because reason: String) -> String {
        guard form.isText else {
            return "\(reason); \(left == 1 ? "1 envelope is" : "\(left) envelopes are") queued"
        }
        let done = sent.isEmpty ? "" : "\(sent.count) sent, "
        return "\(done)\(left) queued: \(reason)"
    }

    /// Returns why a relay does not take what waits, as it said.
    func reason(of relay: RelayURL) -> String {
        let said = reasons[relay.description]
        return "\(relay) does not accept them now" + (said.map { ": \($0)" } ?? "")
    }
}

/// The form of the results of `send`.
struct SendForm {
    let isText: Bool
    /// Whether the text has the ids.
    let namesIDs: Bool
    let isQuiet: Bool
}

extension Reason {
    /// The reasons for not taking an item now, in words.
    fileprivate var words: String? {
        switch self {
        case .diskFull: "its disk is full"
        case .mailboxFull: "the mailbox is full"
        case .tooMany:
            "the mailbox gets too many messages in a minute, or the network uploaded too much"
        case .busy: "it has too many connections"
        case .badJSON, .badFrame, .badFields, .unknownType, .badSignature, .loginFailed,
            .notAdmitted, .foreignOrigin, .loginRequired, .noBundle, .noCard, .noRoom, .noTurn,
            .noBlob, .noMeeting, .meetingOver, .otherName, .badDigest, .workRequired, .conflict,
            .tooLarge, .wakeForbidden, .noInvitations:
            nil
        }
    }
}
