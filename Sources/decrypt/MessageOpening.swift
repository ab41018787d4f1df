import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A line of the input, and what it was read as.
struct ReadLine {
    let number: Int
    /// The line itself.
    let bytes: [UInt8]
    /// What it is, or why it is nothing.
    let content: Result<MessageLine, Failure>
    /// The id that it says to have.
    let id: String?
    /// What Message Flow's server calls it, where it is one of its messages, readable or not.
    var flow: MessageLine.FlowName?

    /// Whether it is an envelope to a mailbox that is not `owner`'s.
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

/// What became of a line.
enum OpenedLine {
    /// A message, and its number in the state, where it is kept.
    case message(Message, number: Int64?, seen: Bool)
    case request(Envelope, from: SessionID)
    /// From somebody who is blocked.
    case dropped
    /// Something that is no message.
    case record(JSONObject)
    case failed(Failure, id: String?, isFinal: Bool)

    /// Whether opening the same line again could not come to anything else.
    var isFinal: Bool { if case .failed(_, _, let isFinal) = self { isFinal } else { true } }
}

/// Opens one line.
final class MessageOpening {
    private let keys: SuiteKeys
    private let identity: Identity?
    private var owner: SessionID? { identity?.id }
    private let judge: SenderJudgement
    private let isPreview: Bool
    /// The address book, where a batch needs to find somebody by another messenger's name.
    private var contacts: [Contact] = []
    /// The hashes of the early envelopes that were opened without being read from the input. They may follow there.
    private var openedLate: Set<[UInt8]> = []
    /// The addresses of ours, where a batch has an envelope to another mailbox than the identity's.
    private var addresses: Set<SessionID> = []

    init(
        identity: Identity?, chats: [Chat], options: SuiteOptions, judge: SenderJudgement,
        isPreview: Bool
    ) {
        self.identity = identity
        self.judge = judge
        self.isPreview = isPreview
        keys = SuiteKeys(identity: identity, chats: chats, options: options)
        keys.whisper2Account = { [unowned self] in account($0) }
        keys.mercurioOwner = { [unowned self] in mercurioOwner($0) }
    }

    /// Reads what a batch needs of the address book, which is not read within a transaction.
    func prepare(_ batch: [ReadLine], _ store: IdentityStore?) throws {
        guard let store else { return }
        // An early envelope that opens after this batch may be to an address too.
        let isElsewhere = try batch.contains { $0.isTo(another: owner) } || store.hasEarly()
        guard isElsewhere || batch.contains(where: \.needsAccounts) else { return }
        contacts = try store.contacts()
        guard isElsewhere, let identity else { return }
        addresses = Set(contacts.flatMap(\.allAddresses).map { $0.id(of: identity) })
    }

    /// The keys of a Whisper2 account, and the id whose messages it signs: a contact's only where the contact's own key
    /// names the account, else the account's own.
    private func account(_ id: WhisperID) -> (id: SessionID?, account: Whisper2Contact)? {
        if let signer = judge.signers.find(id), let account = signer.profiles.whisper2 {
            return (signer.signerID(of: account), account)
        }
        // Several may have the account: the one with the strongest tie to it goes first.
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
        return judge.signers.bare.first { $0.id == id }.map { (nil, $0) }
    }

    /// The correspondent or contact whose own a Mercurio account is.
    private func mercurioOwner(_ id: SessionID) -> SessionID? {
        for signer in judge.signers.all {
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
                    .usage, "a message of a session needs the state",
                    hint: "omit --stateless")
            }
            var message = try suite.open(envelope, with: keys)
            _ = try judge.judge(&message, contact: nil, hasContacts: false)
            return .message(message, number: nil, seen: false)
        }
    }

    /// Opens a line in a transaction. `printed` gets the id of one that has nothing more to be done.
    func open(
        _ line: ReadLine, _ transaction: StateTransaction, _ printed: inout [String]
    ) throws -> OpenedLine {
        // An early envelope that was printed already, when the one before it was.
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

    /// Opens the envelopes of the inbox that came early and that can be opened now: what they waited for was opened in
    /// this transaction. Forged ones end here, without a word: they were reported when they came.
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

    /// An envelope that came before more messages than a session skips: it keeps its place in the inbox, if it is there.
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
                "it waits in the inbox for \(StateTransaction.earlyDays) days and is opened after them; if they are lost, the sender begins anew, with encrypt --new-session"
        )
        return .failed(waiting, id: line.id, isFinal: false)
    }

    /// A line's own failure is its result; one of the state ends the whole work.
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
            // What a suite refuses without a word may open when another chat or contact is known.
            let isRefused = (error as? SuiteError) == .refused
            return .failed(
                failure, id: line.id, isFinal: !isRefused && final.contains(failure.status))
        }
    }

    /// The envelope of a line; `nil` for what is no message.
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

    /// Whose session a message of Message Flow is of: the opening says it, or the name, or `--from`.
    private func flowSender(
        _ name: String?, _ content: MessageFlowContent
    ) throws -> SessionID {
        if let opening = content.opening { return SessionID(publicKey: opening.identityKey) }
        if let name {
            if let id = SessionID(name) { return id }
            for person in judge.signers.all where person.profiles.kecalek == name {
                return person.id
            }
            for contact in contacts where contact.profiles.kecalek == name { return contact.id }
        }
        if judge.signers.all.count == 1 { return judge.signers.all[0].id }
        throw Failure(
            .malformed, "the record does not say whose session it is of",
            hint: "say who wrote it: --from NAME")
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
            // Who took the proof away must not keep the proven message out.
            repeatID = "unproven/" + repeatID
            earlier = try transaction.opened(id: repeatID, digest: digest)
            if case .same(let number, let record) = earlier {
                return try seen(number, record, transaction)
            }
        }
        let verdict = try judged(&message, step, envelope, transaction)
        if case .different = earlier {
            throw Failure(.replay, "a message of this id was opened before, with other content")
        }
        if isPreview {
            return verdict == .blocked ? .dropped : .message(message, number: nil, seen: false)
        }
        switch (verdict, message.from) {
        case (.blocked, _): return .dropped
        case (.stranger, let sender?):
            try transaction.awaitPreKeys(of: step, id: envelope.id)
            guard
                try transaction.request(
                    line.waiting(as: envelope).serialized(), id: envelope.id, from: sender)
            else {
                throw Failure(
                    .untrusted, "from somebody who is no contact, and too many such wait already",
                    hint:
                        "see the list: contact requests, or throw all of it away: contact requests --drop-all"
                )
            }
            return .request(envelope, from: sender)
        case (.welcome, _), (.stranger, nil):
            try transaction.keep(step)
            let number = try transaction.recordOpened(
                id: repeatID, digest: digest, record: message.record.serialized())
            try transaction.forgetRequest(id: envelope.id)
            return .message(message, number: number, seen: false)
        }
    }

    /// The judgement of a message. Where it is refused, it may be read later, under another policy: the prekeys that it
    /// names are kept until then.
    private func judged(
        _ message: inout Message, _ step: StateTransaction.Step, _ envelope: Envelope,
        _ transaction: StateTransaction
    ) throws -> SenderJudgement.Verdict {
        let contact = try transaction.contact(of: message)
        let hasContacts = try transaction.hasContacts()
        do throws(Failure) {
            return try judge.judge(&message, contact: contact, hasContacts: hasContacts)
        } catch {
            if !isPreview { try transaction.awaitPreKeys(of: step, id: envelope.id) }
            throw error
        }
    }
}

extension MessageOpening {
    /// A record that was printed before, with what is known of its sender now.
    private func seen(
        _ number: Int64, _ record: [UInt8], _ transaction: StateTransaction
    ) throws -> OpenedLine {
        let (message, verdict) = try judge.recall(record, transaction)
        return verdict == .blocked ? .dropped : .message(message, number: number, seen: true)
    }
}

extension SenderJudgement {
    /// The message of a record in the state, with the present trust of its sender.
    func recall(
        _ record: [UInt8], _ transaction: StateTransaction
    ) throws -> (message: Message, verdict: Verdict) {
        guard let stored = Message(record: try JSON.object(parsing: record)) else {
            throw Failure(.ioError, "a record in the state is damaged")
        }
        var message = try attributed(stored, transaction)
        let verdict = try judge(
            &message, contact: try transaction.contact(of: message), hasContacts: false)
        return (message, verdict)
    }
}

extension SenderJudgement {
    /// A stored message, without its sender where that is a contact whom only an introduction ties to the account that
    /// signed: version 0.1.0 stored such messages as the contact's.
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
    /// The contact who wrote a message, if that is proven.
    fileprivate func contact(of message: Message) throws(StateError) -> Contact? {
        guard let sender = message.from else { return nil }
        return try contact(id: sender)
    }
}

extension MessageLine {
    /// The record that waits as a request: a messenger's own record as it came, since its envelope does not open later.
    fileprivate func waiting(as envelope: Envelope) -> JSONObject {
        switch self {
        case .flow(let message, _): message.record()
        case .flowFile(let content): content.file
        case .envelope, .app, .ack, .chatName, .ownCopy: envelope.record
        }
    }
}
