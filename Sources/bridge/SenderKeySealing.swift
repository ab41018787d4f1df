import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// The members of a Kecalek group who get each message.
struct SenderKeyTarget {
    /// Cards and names; empty with ``group``.
    let to: [String]
    /// The name or id of a group of this state, or `nil`.
    let group: String?
    /// The id of the group in Kecalek; `nil` for that of ``group``.
    let groupID: String?
    let session: SessionBeginning
    let isClassic: Bool
    let trust: TrustPolicy?
    let identity: IdentityChoice
    let lockTimeout: Double
    let quiet: Bool
}

/// Makes messages of a Kecalek group: one ciphertext for all members, under the owner's key chain. Each member first gets the chain
/// in a message of a session.
final class SenderKeySealing {
    private let store: IdentityStore
    private let sessions: SessionPlan
    private let people: [Correspondent]
    /// The id of the group in Kecalek.
    private let groupID: String
    /// The group of this state, or `nil`.
    private let group: GroupID?
    /// Whether all members get the chain again, in new sessions.
    private var renews: Bool
    /// The failure to end with if some members of the group get no message.
    let unreached: Failure?

    init(_ target: SenderKeyTarget) throws {
        let book = AddressBook(
            target.identity.load, lockTimeout: target.lockTimeout, accounts: MessengerAccounts())
        let owner = try book.identity()
        let store = try book.writableStore()
        let sessions = try SessionPlan(
            tool: BridgeTool.toolName, target.session, classic: target.isClassic,
            isForMessenger: true, quiet: target.quiet)
        let needs = GroupRecipients.Requirement(words: "a session to write in") { person in
            guard person.id != owner.id else {
                throw Failure(.usage, "you are a member yourself", hint: "omit --to me")
            }
            try book.check(person, suite: .ratchet, target.trust)
            _ = try store.preview { try sessions.bundle(for: person, $0) }
        } areOne: {
            $0.id == $1.id
        }
        let members = try target.group.map { try GroupRecipients($0, in: book, needs) }
        var people = members?.people ?? []
        for person in try target.to.map({ try book.find($0, for: .acting) })
        where !people.contains(where: { needs.areOne($0, person) }) {
            try needs.check(person)
            people.append(person)
        }
        guard let id = target.groupID ?? members?.id.description else {
            throw UsageError("several recipients are a group, which needs --group-id ID")
        }
        guard people.count <= StateTransaction.senderKeyHolders else {
            throw MessengerError.memberCount(limit: StateTransaction.senderKeyHolders)
        }
        try sessions.check(people)
        (self.store, self.sessions, self.people) = (store, sessions, people)
        (groupID, group, unreached) = (id, members?.id, members?.unreached)
        renews = target.session.isNew
    }

    /// Returns the records of each message, or its failure: the key chain for each member who lacks it, and the message. The state
    /// is on disk before it returns.
    func seal(_ messages: [MessageText]) throws -> [Result<[JSONObject], Failure>] {
        let (sealed, begun) = try store.transaction { transaction in
            var begun: [SessionPlan.Begun] = []
            let sealed = try messages.map { message in
                try result { try seal(message, transaction, &begun) }
            }
            return (sealed, begun)
        }
        for session in begun { sessions.report(session) }
        return sealed
    }

    private func seal(
        _ message: MessageText, _ transaction: StateTransaction, _ begun: inout [SessionPlan.Begun]
    ) throws -> [JSONObject] {
        let members = Set(people.map(\.id))
        var key = try transaction.ownSenderKey(in: groupID) ?? OwnSenderKey(groupID: groupID)
        // A former member has the keys of the chain.
        if !key.holders.isSubset(of: members) { key = OwnSenderKey(groupID: groupID) }
        if renews { key.holders = [] }
        let distribution = key.chain.distribution
        let draft = Draft(body: message.body, extra: message.extra)
        let sealed = try key.chain.seal(draft)
        var records: [JSONObject] = []
        for person in people where !key.holders.contains(person.id) {
            if let new = try sessions.prepare(person, transaction) { begun.append(new) }
            let envelope = try transaction.seal(
                Draft(body: distribution.object()), to: person.id, isClassical: true)
            var record = try MessageFlowContent(payload: envelope.payload).file
            record["to"] = .string(person.profiles.kecalek ?? person.id.description)
            records.append(record)
            key.holders.insert(person.id)
        }
        try transaction.keep(key)
        renews = false
        try record(draft, transaction)
        return records + [sealed.payload]
    }

    /// Stores a message: once in a group of this state, else with each member.
    private func record(_ draft: Draft, _ transaction: StateTransaction) throws(StateError) {
        for (place, person) in people.prefix(group == nil ? people.count : 1).enumerated() {
            var sent = SentMessage(
                id: place == 0 ? draft.id : Envelope.newID(), to: person.id, time: draft.time,
                suite: .kecalek, body: draft.body, extra: draft.extra)
            sent.details = ["group": .string(groupID)]
            sent.group = group
            try sent.record(in: transaction)
        }
    }
}
