import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// The recipient of messages in a session, for Kecalek and Message Flow.
struct SessionTarget {
    /// A card or a name.
    let to: String
    /// Whether the records are those of Message Flow, else the encrypted payload alone.
    let isFlow: Bool
    /// The sender's name in Message Flow; `nil` for the id.
    let userID: String?
    let session: SessionBeginning
    let isClassic: Bool
    let trust: TrustPolicy?
    let identity: IdentityChoice
    let lockTimeout: Double
    let quiet: Bool
}

/// Makes records of a session, for Kecalek and Message Flow.
struct SessionSealing {
    private let isFlow: Bool
    private let store: IdentityStore
    private let peer: KeyID
    /// The names of the sender and the recipient in Message Flow.
    private let names: (own: String, peer: String)

    init(_ target: SessionTarget) throws {
        isFlow = target.isFlow
        let book = AddressBook(
            target.identity.load, lockTimeout: target.lockTimeout, accounts: MessengerAccounts())
        let owner = try book.identity()
        store = try book.writableStore()
        let person = try book.find(target.to, for: .acting)
        guard person.id != owner.id else {
            throw Failure(.usage, "a session with yourself is not possible", hint: "omit --to me")
        }
        try book.check(person, suite: .ratchet, target.trust)
        let sessions = try SessionPlan(
            tool: BridgeTool.toolName, target.session, classic: target.isClassic,
            isForMessenger: true, quiet: target.quiet)
        try sessions.check([person])
        if let begun = try store.transaction({ try sessions.prepare(person, $0) }) {
            sessions.report(begun)
        }
        peer = person.id
        names = (
            target.userID ?? owner.id.description, person.profiles.kecalek ?? peer.description
        )
    }

    /// Returns the record of each message, or its failure. The session and the history are on disk before it returns.
    func seal(_ messages: [MessageText]) throws -> [Result<[JSONObject], Failure>] {
        try store.transaction { transaction in
            try messages.map { message in
                try result {
                    let envelope = try transaction.seal(
                        Draft(body: message.body, extra: message.extra), to: peer,
                        isClassical: true)
                    let record = try record(of: envelope)
                    try SentMessage(
                        id: envelope.id, to: peer, time: envelope.time,
                        suite: SuiteName(envelope.suite), body: message.body, extra: message.extra
                    ).record(in: transaction)
                    return [record]
                }
            }
        }
    }

    private func record(of envelope: Envelope) throws -> JSONObject {
        guard isFlow else {
            return try MessageFlowContent(payload: envelope.payload).file
        }
        return try MessageFlowMessage(envelope: envelope, from: names.own, to: names.peer).record()
    }
}
