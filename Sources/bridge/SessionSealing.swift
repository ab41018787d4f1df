import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import SottoTool

/// Makes records of a session, for Kecalek and Message Flow.
struct SessionSealing {
    private let format: MessageFormat
    private let store: IdentityStore
    private let peer: SessionID
    /// The names of the sender and the recipient in Message Flow.
    private let names: (own: String, peer: String)

    init(tool: SealCommand) throws {
        format = tool.format
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        let owner = try book.identity()
        store = try book.writableStore()
        let person = try book.find(tool.to[0])
        guard person.id != owner.id else {
            throw Failure(.usage, "a session with yourself is not possible", hint: "omit --to me")
        }
        try book.check(person, suite: .ratchet, tool.trust)
        let sessions = try SessionPlan(
            tool: BridgeTool.toolName, tool.session, classic: tool.classic, quiet: tool.quiet)
        try sessions.check([person])
        _ = try sessions.prepare(person, store)
        peer = person.id
        names = (
            tool.userID ?? owner.id.description, person.profiles.kecalek ?? peer.description
        )
    }

    /// Returns the record of each message, or its failure. The state is on disk before it returns.
    func seal(_ messages: [MessageText]) throws -> [Result<[JSONObject], Failure>] {
        try store.transaction { transaction in
            try messages.map { message in
                try result {
                    let envelope = try transaction.seal(
                        body: message.body, extra: message.extra, to: peer, time: .now())
                    return [try record(of: envelope)]
                }
            }
        }
    }

    private func record(of envelope: Envelope) throws -> JSONObject {
        if format == .kecalek {
            return try MessageFlowContent(payload: envelope.payload).file
        }
        return try MessageFlowMessage(envelope: envelope, from: names.own, to: names.peer).record()
    }
}
