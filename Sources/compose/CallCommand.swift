public import Arguments
public import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `compose call`: the signals of a call.
struct CallCommand: Program {
    static let configuration = CommandConfiguration(
        name: "call", abstract: "Write a signal of a call with a contact.",
        usage: """
            sotto compose call offer --to WHO [--id UUID] < SDP
            sotto compose call answer --to WHO [--id UUID] < SDP
            sotto compose call candidates --to WHO [--id UUID] < CANDIDATES
            sotto compose call hangup --to WHO [--id UUID] [--reason REASON]
            sotto compose call busy --to WHO [--id UUID]
            """,
        discussion: """
            Only the signals go through Sotto; a program with WebRTC makes the call. The session description of offer and \
            answer is standard input, and the candidates are its lines: texts or JSON objects. A signal lives for 60 seconds \
            at the relay. A call is between two people: a group cannot be called.

            EXAMPLES
              sotto compose call offer --to bob < offer.sdp | sotto encrypt | sotto send
              sotto compose call hangup --to bob --reason declined | sotto encrypt | sotto send
            """)

    @Argument("signal", help: "offer, answer, candidates, hangup or busy.")
    var signal: CallStep

    @Option("--to", value: "who", help: "The contact.")
    var to: String

    @Option(
        "--id", value: "uuid",
        help:
            "The id of the call. Default: a new one for offer, else the last call with the contact that is not over."
    )
    var id: String?

    @Option(
        "--reason", value: "reason",
        help: "With hangup: accepted, declined, busy, timeout or failed.")
    var reason: CallSignal.Reason?

    @OptionGroup var options: ComposeOptions

    func validate() throws {
        guard reason == nil || signal == .hangup else {
            throw UsageError("--reason is for hangup")
        }
        guard id.map(Envelope.isID) ?? true else {
            throw UsageError("--id is not a UUID in lower case")
        }
    }

    func execute() throws {
        let context = try options.open()
        let peer = try context.recipient(to) { group in
            Failure(.usage, "a call is between two people, and \(group) is a group")
        }
        let store = try context.history()
        let contact = try store.contact(id: peer)
        guard let contact, peer != context.owner, !contact.isBlocked, contact.trust != .unverified
        else {
            throw Failure(.no, "only a contact that is not blocked can be called")
        }
        let id = try id ?? openCall(with: contact, store) ?? Envelope.newID()
        try context.print(
            try signals(of: id).map { ComposedMessage(to: peer, MessageBody(.call($0))) })
    }

    /// Returns the id of the call that the signal belongs to; `nil` for an offer, which begins one.
    private func openCall(with contact: Contact, _ store: IdentityStore) throws -> String? {
        let calls = try store.openCalls(with: contact.id)
        let call: Call?
        switch signal {
        case .offer: return nil
        case .answer, .busy: call = calls.first { !$0.isOwn && $0.answered == nil }
        case .candidates, .hangup: call = calls.first
        }
        guard let call else {
            let name = contact.name.isEmpty ? contact.id.short : contact.name
            let what = [.answer, .busy].contains(signal) ? "no call from" : "no call with"
            throw Failure(.no, "\(what) \(name) waits for this signal")
        }
        return call.id
    }

    private func signals(of id: String) throws -> [CallSignal] {
        switch signal {
        case .offer: [CallSignal(.offer, call: id, sdp: try Self.description())]
        case .answer: [CallSignal(.answer, call: id, sdp: try Self.description())]
        case .candidates:
            try Self.candidates().map { CallSignal(.candidates, call: id, candidates: $0) }
        case .hangup: [CallSignal(.hangup, call: id, reason: reason)]
        case .busy: [CallSignal(.busy, call: id)]
        }
    }

    private static func text(limit: Int) throws -> String {
        let bytes = try Input(path: nil).readText(limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.malformed, "the input is not UTF-8 text")
        }
        return text
    }

    /// Reads standard input as a session description.
    private static func description() throws -> String {
        let sdp = try text(limit: BodyLimits.sdp)
        guard sdp.hasPrefix("v=0") else {
            throw Failure(
                .malformed, "the input is not a session description, which begins with v=0")
        }
        return sdp
    }

    /// Reads standard input as candidates, a text or a JSON object on each line, and divides them among signals.
    private static func candidates() throws -> [[JSON]] {
        let limit = 64 << 10
        var all: [JSON] = []
        for line in try text(limit: limit).split(whereSeparator: \.isNewline) {
            let isObject = line.utf8.first == UInt8(ascii: "{")
            let candidate: JSON =
                isObject
                ? .object(try JSON.object(parsing: Array(line.utf8))) : .string(String(line))
            guard candidate.serialized().count <= BodyLimits.candidate else {
                throw Failure(
                    .malformed, "a candidate has more than \(BodyLimits.candidate) bytes")
            }
            if !all.contains(candidate) { all.append(candidate) }
        }
        guard !all.isEmpty else { throw Failure(.no, "the input has no candidates") }
        return stride(from: 0, to: all.count, by: BodyLimits.candidates).map {
            Array(all[$0...].prefix(BodyLimits.candidates))
        }
    }
}

/// The signals that `compose call` writes.
enum CallStep: String, ExpressibleByArgument, CaseIterable, Sendable {
    case offer, answer, candidates, hangup, busy
}

extension CallSignal.Reason: ExpressibleByArgument {}
