import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A line of the input with its parsed content.
struct ReadLine {
    let number: Int
    /// The bytes of the line.
    let bytes: [UInt8]
    /// The parsed content, or the failure of parsing it.
    let content: Result<MessageLine, Failure>
    /// The id that the line claims.
    let id: String?
    /// The message's name at Message Flow's server, if it is one of its messages, readable or not.
    var flow: MessageLine.FlowName?

    /// Returns whether it is an envelope to a mailbox other than `owner`'s.
    func isTo(another owner: SessionID?) -> Bool {
        guard case .success(.envelope(let envelope)) = content else { return false }
        return envelope.to != nil && envelope.to != owner
    }

    /// Whether a contact may have to be found by its name in another messenger.
    var needsAccounts: Bool {
        guard case .success(let line) = content else { return false }
        switch line {
        case .envelope(let envelope): return [.whisper2, .mercurio].contains(envelope.suite)
        case .app(_, let suite): return [.whisper2, .mercurio].contains(suite)
        case .flow, .flowFile: return true
        case .ack, .chatName, .ownCopy: return false
        }
    }
}

/// The result of opening a line.
enum OpenedLine {
    /// A message, and its number in the state if it is stored.
    case message(Message, number: Int64?, seen: Bool)
    case request(Envelope, from: SessionID)
    /// A message of a blocked sender.
    case dropped
    /// A record that is not a message.
    case record(JSONObject)
    case failed(Failure, id: String?, isFinal: Bool)

    /// Whether opening the same line again would give the same result.
    var isFinal: Bool { if case .failed(_, _, let isFinal) = self { isFinal } else { true } }
}

/// Opens one line.
final class MessageOpening {
    private let keys: SuiteKeys
    private let identity: Identity?
    private var owner: SessionID? { identity?.id }
    private let senderPolicy: SenderPolicy
    private let isPreview: Bool
    /// The address book, if a batch needs to find contacts by another messenger's name.
    private var contacts: [Contact] = []
    /// The hashes of early envelopes that were opened without being read from the input. They may follow in the input.
    private var openedLate: Set<[UInt8]> = []
    /// Our send addresses, if a batch has an envelope to a mailbox other than the identity's.
    private var addresses: Set<SessionID> = []

    init(
        identity: Identity?, chats: [Chat], options: SuiteOptions, senderPolicy: SenderPolicy,
        isPreview: Bool
    ) {
        self.identity = identity
        self.senderPolicy = senderPolicy
        self.isPreview = isPreview
        keys = SuiteKeys(identity: identity, chats: chats, options: options)
        keys.whisper2Account = { [unowned self] in account($0) }
        keys.mercurioOwner = { [unowned self] in mercurioOwner($0) }
    }

    /// Reads the parts of the address book that a batch needs, because it cannot be read within a transaction.
    func prepare(_ batch: [ReadLine], _ store: IdentityStore?) throws {
        guard let store else { return }
        // An early envelope that is opened after this batch may also be sent to an address.
        let isElsewhere = try batch.contains { $0.isTo(another: owner) } || store.hasEarly()
        guard isElsewhere || batch.contains(where: \.needsAccounts) else { return }
        contacts = try store.contacts()
        guard isElsewhere, let identity else { return }
        addresses = Set(contacts.flatMap(\.allAddresses).map { $0.id(of: identity) })
    }

    /// Returns the keys of a Whisper2 account and the id whose messages it signs: a contact's id only if the contact's
    /// own key names the account, else the account's own id.
    private func account(_ id: WhisperID) -> (id: SessionID?, account: Whisper2Contact)? {
        if let signer = senderPolicy.signers.find(id), let account = signer.profiles.whisper2 {
            return (signer.signerID(of: account), account)
        }
        // Several contacts may have the account: the one with the strongest binding is used.
        let holders = contacts.compactMap { contact -> (Contact, Whisper2Contact)? in
            guard let account = contact.profiles.whisper2, account.id == id else { return nil }
            return (contact, account)
        }
        if let (contact, account) = holders.max(by: {
            $0.0.binding(of: $0.1) < $1.0.binding(of: $1.1)
        }) {
            let isTied = contact.signs(with: account)
            return (
                isTied ? contact.id : account.signingKey.map { SessionID(publicKey: $0) }, account
            )
        }
        return senderPolicy.signers.bare.first { $0.id == id }.map { (nil, $0) }
    }

    /// Returns the correspondent or contact that owns a Mercurio account.
    private func mercurioOwner(_ id: SessionID) -> SessionID? {
        for signer in senderPolicy.signers.all {
            guard let bundle = signer.profiles.mercurio, bundle.id == id else { continue }
            if signer.signs(with: bundle) { return signer.id }
        }
        for contact in contacts {
            guard let bundle = contact.profiles.mercurio, bundle.id == id else { continue }
            if contact.signs(with: bundle) { return contact.id }
        }
        return nil
    }

    // MARK: Lines

    /// Opens a line without a state.
    func open(_ line: ReadLine) throws -> OpenedLine {
        try caught(line) { content in
            guard let envelope = try envelope(content) else { return try record(content) }
            guard let suite = envelope.suite.messageSuite else {
                throw Failure(
                    .usage, "a message of a session requires the state directory",
                    hint: "omit --stateless")
            }
            var message = try suite.open(envelope, with: keys)
            _ = try senderPolicy.decide(&message, contact: nil, hasContacts: false)
            return .message(message, number: nil, seen: false)
        }
    }

    /// Opens a line in a transaction. Appends to `printed` the id of an envelope that is completely handled.
    func open(
        _ line: ReadLine, _ transaction: StateTransaction, _ printed: inout [String]
    ) throws -> OpenedLine {
        // This early envelope was already printed after the message that it waited for.
        if !openedLate.isEmpty, openedLate.remove(sha256(line.bytes)) != nil { return .dropped }
        var id: String?
        let result = try caught(line) { content in
            guard let envelope = try envelope(content) else { return try record(content) }
            id = envelope.id
            do {
                return try open(envelope, content, transaction)
            } catch RatchetError.tooManySkipped {
                return try early(envelope, line, transaction)
            }
        }
        guard !isPreview, let id, result.isFinal,
            try transaction.markOpened(id: id, envelope: line.bytes)
        else { return result }
        printed.append(id)
        return result
    }

    /// Opens the early envelopes of the inbox whose preceding messages were opened in this transaction. Forged ones are
    /// deleted silently, because they were reported when they arrived.
    func openReachable(
        _ transaction: StateTransaction, _ printed: inout [String]
    ) throws -> [OpenedLine] {
        var tried: Set<String> = []
        var opened: [OpenedLine] = []
        while true {
            let rows = try transaction.reachable(limit: 256, except: tried)
            if rows.isEmpty { return opened }
            for (id, envelope) in rows {
                tried.insert(id)
                guard let read = try MessageLine.read(envelope, suite: nil) else { continue }
                let line = ReadLine(number: 0, bytes: envelope, content: read.content, id: id)
                let result = try open(line, transaction, &printed)
                if case .failed = result { continue }
                openedLate.insert(sha256(envelope))
                opened.append(result)
            }
        }
    }

    /// Keeps an envelope that arrived before more messages than a session can skip in the inbox, if it is there.
    private func early(
        _ envelope: Envelope, _ line: ReadLine, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard let failure = Failure(core: RatchetError.tooManySkipped) else {
            throw RatchetError.tooManySkipped
        }
        guard !isPreview, let sender = envelope.from,
            let message = try? RatchetMessage(payload: envelope.payload),
            try transaction.markEarly(
                id: envelope.id, envelope: line.bytes, from: sender, position: message.position)
        else { return .failed(failure, id: line.id, isFinal: false) }
        let waiting = Failure(
            failure.status, failure.message,
            hint:
                "it waits in the inbox for \(StateTransaction.earlyDays) days and is opened after them; if they are lost, ask the sender to run encrypt --new-session"
        )
        return .failed(waiting, id: line.id, isFinal: false)
    }

    /// A failure of a line is its result; an error of the state ends the whole run.
    private func caught(
        _ line: ReadLine, _ body: (MessageLine) throws -> OpenedLine
    ) throws -> OpenedLine {
        let final: [ExitStatus] = [.malformed, .authentication, .replay]
        do {
            return try body(try line.content.get())
        } catch let error as StateError {
            throw error
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            // A message that a suite refuses without a reason may open after another chat or contact is added.
            let isRefused = (error as? SuiteError) == .refused
            return .failed(
                failure, id: line.id, isFinal: !isRefused && final.contains(failure.status))
        }
    }

    /// Returns the envelope of a line, or `nil` if it is not a message.
    private func envelope(_ line: MessageLine) throws -> Envelope? {
        switch line {
        case .envelope(let envelope):
            guard let identity, let to = envelope.to, addresses.contains(to) else {
                return envelope
            }
            return envelope.arrived(for: identity)
        case .app(let record, let suite):
            guard let messageSuite = suite.messageSuite else { throw SuiteError.noForm }
            return try messageSuite.envelope(ofApp: record, with: keys)
        case .flow(let message, _):
            guard let owner else { throw SuiteError.refused }
            let sender = try flowSender(message.from, message.content)
            return message.envelope(to: owner, from: sender)
        case .flowFile(let content):
            guard let owner else { throw SuiteError.refused }
            return content.envelope(to: owner, from: try flowSender(nil, content))
        case .ack, .chatName, .ownCopy: return nil
        }
    }

    /// Returns the sender of a Message Flow message: from the pre-key message, the name, or `--from`.
    private func flowSender(
        _ name: String?, _ content: MessageFlowContent
    ) throws -> SessionID {
        if let header = content.preKeyHeader { return SessionID(publicKey: header.identityKey) }
        if let name {
            if let id = SessionID(name) { return id }
            for person in senderPolicy.signers.all where person.profiles.kecalek == name {
                return person.id
            }
            for contact in contacts where contact.profiles.kecalek == name { return contact.id }
        }
        if senderPolicy.signers.all.count == 1 { return senderPolicy.signers.all[0].id }
        throw Failure(
            .malformed, "the record does not name its sender",
            hint: "name the sender with --from NAME")
    }

    private func record(_ line: MessageLine) throws -> OpenedLine {
        switch line {
        case .ack(let ack):
            return .record([
                "v": .integer(1), "type": .string("ack"), "id": .string(ack.messageID),
                "status": .string(ack.status.rawValue), "authenticated": .bool(false),
            ])
        case .chatName(let record):
            for chat in keys.chats {
                guard let name = try? chat.name(in: record) else { continue }
                return .record([
                    "v": .integer(1), "type": .string("chat-name"),
                    "id": .string(hex(chat.phrase.id)), "name": .string(name.text),
                    "authenticated": .bool(name.isAuthentic),
                ])
            }
            throw SuiteError.refused
        case .ownCopy(let copy):
            guard let identity, let bytes = try? SelfEncryption.open(copy, with: identity) else {
                throw SuiteError.refused
            }
            return .record([
                "v": .integer(1), "type": .string("own-copy"), "authenticated": .bool(true),
                "body": .object(Message.body(of: bytes)),
            ])
        case .envelope, .app, .flow, .flowFile:
            throw Failure(.bug, "a message was not opened")
        }
    }

    // MARK: Messages

    private func open(
        _ envelope: Envelope, _ line: MessageLine, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let digest = envelope.digest
        var repeatID = envelope.repeatID
        var earlier = try transaction.opened(id: repeatID, digest: digest)
        if case .same(let number, let record) = earlier {
            return try seen(number, record, transaction)
        }
        let step = try transaction.open(envelope, with: keys)
        var message = step.message
        if message.isUnproven, case .new = earlier {
            // An attacker who removes the signature must not block the signed message.
            repeatID = "unproven/" + repeatID
            earlier = try transaction.opened(id: repeatID, digest: digest)
            if case .same(let number, let record) = earlier {
                return try seen(number, record, transaction)
            }
        }
        let verdict = try decision(&message, step, envelope, transaction)
        if case .different = earlier {
            throw Failure(
                .replay, "a message with this id was opened before, with different content")
        }
        if isPreview {
            return verdict == .blocked ? .dropped : .message(message, number: nil, seen: false)
        }
        switch (verdict, message.from) {
        case (.blocked, _): return .dropped
        case (.request, let sender?):
            try transaction.awaitPreKeys(of: step, id: envelope.id)
            guard
                try transaction.request(
                    line.waiting(as: envelope).serialized(), id: envelope.id, from: sender)
            else {
                throw Failure(
                    .untrusted,
                    "the sender is not a contact, and too many message requests wait already",
                    hint:
                        "list the requests: contact requests, or delete all of them: contact requests --drop-all"
                )
            }
            return .request(envelope, from: sender)
        case (.accepted, _), (.request, nil):
            try transaction.keep(step)
            let number = try transaction.recordOpened(
                id: repeatID, digest: digest, record: message.record.serialized())
            try transaction.forgetRequest(id: envelope.id)
            return .message(message, number: number, seen: false)
        }
    }

    /// Decides about a message. A refused message may be read later with another policy, so the prekeys that it names
    /// are kept until then.
    private func decision(
        _ message: inout Message, _ step: StateTransaction.Step, _ envelope: Envelope,
        _ transaction: StateTransaction
    ) throws -> SenderPolicy.Decision {
        let contact = try transaction.contact(of: message)
        let hasContacts = try transaction.hasContacts()
        do throws(Failure) {
            return try senderPolicy.decide(&message, contact: contact, hasContacts: hasContacts)
        } catch {
            if !isPreview { try transaction.awaitPreKeys(of: step, id: envelope.id) }
            throw error
        }
    }
}

extension MessageOpening {
    /// Returns the result for a record that was printed before, with the current trust of its sender.
    private func seen(
        _ number: Int64, _ record: [UInt8], _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let (message, verdict) = try senderPolicy.recall(record, transaction)
        return verdict == .blocked ? .dropped : .message(message, number: number, seen: true)
    }
}

extension SenderPolicy {
    /// Returns the message of a record in the state, with the current trust of its sender.
    func recall(
        _ record: [UInt8], _ transaction: StateTransaction
    ) throws -> (message: Message, verdict: Decision) {
        guard let stored = Message(record: try JSON.object(parsing: record)) else {
            throw Failure(.ioError, "a record in the state is damaged")
        }
        var message = try attributed(stored, transaction)
        let verdict = try decide(
            &message, contact: try transaction.contact(of: message), hasContacts: false)
        return (message, verdict)
    }
}

extension SenderPolicy {
    /// Returns a stored message without its sender if the sender is a contact whom only an introduction binds to the
    /// account that signed it: version 0.1.0 stored such messages as the contact's.
    private func attributed(
        _ message: Message, _ transaction: StateTransaction
    ) throws(StateError) -> Message {
        guard let contact = try transaction.contact(of: message) else { return message }
        let isTied: Bool
        switch message.suite {
        case .whisper2:
            let name = message.details?["whisperId"]?.string
            isTied =
                contact.profiles.whisper2.map {
                    $0.id.description == name && contact.signs(with: $0)
                } ?? (contact.card == nil)
        case .mercurio:
            let name = message.details?["mercurioId"]?.string
            isTied =
                name == contact.id.description
                || contact.profiles.mercurio.map {
                    $0.id.description == name && contact.signs(with: $0)
                } ?? (contact.card == nil)
        case .sealed, .ratchet, .phrase, .shainy: return message
        }
        guard !isTied else { return message }
        return Message(
            id: message.id, from: nil, to: message.to, time: message.time, suite: message.suite,
            authenticated: false, details: message.details, body: message.body)
    }
}

extension StateTransaction {
    /// Returns the contact who sent a message if that is authenticated, else `nil`.
    fileprivate func contact(of message: Message) throws(StateError) -> Contact? {
        guard let sender = message.from else { return nil }
        return try contact(id: sender)
    }
}

extension MessageLine {
    /// Returns the record that waits as a request. A messenger's own record is stored unchanged, because its envelope
    /// cannot be opened later.
    fileprivate func waiting(as envelope: Envelope) -> JSONObject {
        switch self {
        case .flow(let message, _): message.record()
        case .flowFile(let content): content.file
        case .envelope, .app, .ack, .chatName, .ownCopy: envelope.record
        }
    }
}
