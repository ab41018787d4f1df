import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// Parses the lines of `bridge open`: a messenger's own records.
final class MessengerInput: MessageInput {
    enum Content: Sendable {
        /// A record of a messenger without sessions.
        case record(JSONObject, Messenger)
        /// A message of Message Flow.
        case flow(MessageFlowMessage)
        /// A message of a Kecalek group.
        case group(SenderKeyMessage)
        /// The encrypted payload of a session alone.
        case payload(MessageFlowContent)
        /// An acknowledgement of Message Flow.
        case ack(MessageFlowAck)
        /// A copy that the user encrypted to the own identity key.
        case ownCopy([UInt8])
    }

    /// The form of the lines.
    enum Form {
        /// With `showsDetails`, the printed messages have the encrypted members of their records.
        case messenger(Messenger, MessengerOptions, showsDetails: Bool)
        /// Records of a session; acknowledgements are appended to the file at this path, which say that messages were read
        /// if `areRead`.
        case session(BridgeFormat, acknowledgements: String?, areRead: Bool)
        /// The base64 of copies that Kecalek encrypted to the own identity key.
        case ownCopies

        /// Whether the keys of chats open the records.
        var isOfChats: Bool {
            if case .messenger(.shainy, _, _) = self { true } else { false }
        }
    }

    private let form: Form
    private let acknowledgements: Acknowledgements?
    private let identity: Identity?
    private let signers: DemandedSigners
    private let keys: MessengerKeys
    private let showsDetails: Bool
    /// The contacts, read in the transaction ``read``.
    private var contacts: [Contact] = []
    private var read: StateTransaction.Mark?
    /// The keys of each Whisper2 account of a contact, and the id whose messages are those of the account.
    private var accounts: [WhisperID: (id: KeyID, account: Whisper2Contact)] = [:]
    /// The contact that owns each Mercurio account.
    private var owners: [KeyID: KeyID] = [:]

    init(
        _ form: Form, identity: Identity?, chats: [MessengerChat], signers: DemandedSigners
    ) throws {
        self.form = form
        self.identity = identity
        self.signers = signers
        var path: String?
        var options = MessengerOptions()
        var showsDetails = false
        var areRead = false
        switch form {
        case .messenger(_, let chosen, let details): (options, showsDetails) = (chosen, details)
        case .session(_, let acknowledgements, let read): (path, areRead) = (acknowledgements, read)
        case .ownCopies: break
        }
        self.showsDetails = showsDetails
        acknowledgements = try path.map { try Acknowledgements(path: $0, areRead: areRead) }
        keys = MessengerKeys(identity: identity, chats: chats, options: options)
        keys.whisper2Account = { [unowned self] in account($0) }
        keys.mercurioOwner = { [unowned self] in mercurioOwner($0) }
    }

    // MARK: Lines

    func read(_ bytes: [UInt8]) throws -> (content: Result<Content, Failure>, id: String?)? {
        let text = bytes.filter { ![0x20, 0x09, 0x0D].contains($0) }
        if text.isEmpty { return nil }
        if case .ownCopies = form {
            guard let copy = Base64.standard.decode(utf8: text[...]) else {
                return (.failure(Failure(.malformed, "the line is not base64")), nil)
            }
            return (.success(.ownCopy(copy)), nil)
        }
        let record = try JSON.object(parsing: bytes)
        let id = record["id"] ?? record["messageId"] ?? record["message"]?.object?["id"]
        return (try result { try content(of: record) }, id?.string)
    }

    /// The messages in the answer to a poll of Message Flow.
    func records(ofLine bytes: [UInt8]) -> [[UInt8]]? {
        guard case .session = form, let record = try? JSON.object(parsing: bytes) else {
            return nil
        }
        return MessageFlowPoll.messages(in: record)?.map { $0.serialized() }
    }

    private func content(of record: JSONObject) throws -> Content {
        // The refusal of a server has the type of an error record too.
        if case .session = form, record["success"] != nil { throw Self.emptyAnswer }
        if let failure = Failure(errorRecord: record) { throw failure }
        switch form {
        case .messenger(let messenger, _, _):
            guard record["type"]?.string != "envelope" else {
                throw Self.envelopeFailure(messenger.rawValue)
            }
            return .record(record, messenger)
        case .session(let format, _, _): return try sessionContent(of: record, format)
        case .ownCopies: throw Failure(.malformed, "the line is not base64")
        }
    }

    private func sessionContent(
        of record: JSONObject, _ format: BridgeFormat
    ) throws -> Content {
        switch record["type"]?.string {
        case "new_message": return .flow(try MessageFlowMessage(record: record))
        case "ack": return .ack(try MessageFlowAck(record: record))
        case nil where record["encryptedPayload"] != nil && record["v"] != nil:
            return .payload(try MessageFlowContent(file: record))
        case nil where record["chainId"] != nil:
            return .group(try SenderKeyMessage(payload: record))
        case nil: return .flow(try MessageFlowMessage(record: record))
        case "envelope": throw Self.envelopeFailure(format.rawValue)
        default: throw Failure(.malformed, "the record is not of \(format.rawValue)")
        }
    }

    private static var emptyAnswer: Failure {
        Failure(.malformed, "the answer of the server has no messages")
    }

    private static func envelopeFailure(_ format: String) -> Failure {
        Failure(
            .usage, "this is an envelope, not a record of \(format)",
            hint: "open it with sotto decrypt")
    }

    /// Whether a contact may have to be found by its name in another messenger.
    private func needsContacts(_ content: Content) -> Bool {
        switch content {
        case .record(_, let messenger): messenger != .shainy
        case .flow, .payload: true
        case .group, .ack, .ownCopy: false
        }
    }

    func resolve(_ content: Content, _ transaction: StateTransaction?) throws -> ResolvedLine {
        if let transaction, transaction.mark !== read, needsContacts(content) {
            take(try transaction.allContacts())
            read = transaction.mark
        }
        switch content {
        case .record(let record, let messenger):
            let envelope = try messenger.format.envelope(of: record, with: keys)
            return try foreign(envelope, waiting: envelope.payload)
        case .flow(let message):
            guard let identity else { throw SuiteError.refused }
            let sender = try sender(message.from, message.content)
            return .envelope(
                ParsedEnvelope(message.envelope(to: identity.device, from: sender)),
                waiting: message.record())
        case .payload(let content):
            guard let identity else { throw SuiteError.refused }
            let envelope = content.envelope(to: identity.device, from: try sender(nil, content))
            return .envelope(
                ParsedEnvelope(envelope, digest: content.digest(of: envelope)),
                waiting: content.file)
        case .group(let message): return .foreign(try foreign(message, transaction))
        case .ack(let ack):
            return .record([
                "v": .integer(1), "type": .string("ack"), "id": .string(ack.messageID),
                "status": .string(ack.status.rawValue), "authenticated": .bool(false),
            ])
        case .ownCopy(let copy):
            guard let identity, let bytes = try? SelfEncryption.open(copy, with: identity) else {
                throw SuiteError.refused
            }
            return .record([
                "v": .integer(1), "type": .string("own-copy"), "authenticated": .bool(true),
                "body": .object(Message.body(of: bytes)),
            ])
        }
    }

    private func foreign(
        _ envelope: MessengerEnvelope, waiting: JSONObject
    ) throws -> ResolvedLine {
        .foreign(
            ForeignMessage(
                id: envelope.id, time: envelope.time,
                suite: SuiteName(rawValue: envelope.messenger.rawValue), digest: envelope.digest,
                repeatID: envelope.repeatID, waiting: waiting,
                unknownSender: try envelope.messenger.format.unknownSender(of: envelope, with: keys)
            ) { [keys, showsDetails] in
                let format = envelope.messenger.format
                var message = try format.open(envelope, with: keys)
                if showsDetails {
                    let members = format.encryptedMembers.map { ($0, envelope.payload[$0]) }
                    var details = message.details ?? [:]
                    details["encrypted"] = .object(JSONObject(members))
                    message.details = details
                }
                return message
            })
    }

    // MARK: Groups of Kecalek

    private func foreign(
        _ message: SenderKeyMessage, _ transaction: StateTransaction?
    ) throws -> ForeignMessage {
        guard let identity, let transaction else {
            throw Failure(
                .usage, "a message of a group requires the state directory",
                hint: "omit --stateless")
        }
        var opened: MemberSenderKey?
        return ForeignMessage(
            id: message.id, time: .now(), suite: .kecalek, digest: message.digest,
            repeatID: message.repeatID, waiting: message.payload,
            keep: { transaction in if let opened { try transaction.keep(opened) } }
        ) {
            for var key in try transaction.memberSenderKeys(id: message.chainID) {
                guard let text = try? key.open(message, to: identity.id) else { continue }
                opened = key
                return text
            }
            throw SuiteError.refused
        }
    }

    func taken(
        _ message: Message, isPreview: Bool, _ transaction: StateTransaction
    ) throws -> Message? {
        guard case .session = form, message.suite == SuiteName(.ratchet),
            message.body["type"]?.string == SenderKeyDistribution.type, let member = message.from
        else { return nil }
        let distribution = try SenderKeyDistribution(message.body)
        if !isPreview { try transaction.keep(distribution, of: member) }
        var shown = message
        shown.body = distribution.shown
        return shown
    }

    // MARK: Senders

    private func take(_ contacts: [Contact]) {
        self.contacts = contacts
        (accounts, owners) = ([:], [:])
        var bindings: [WhisperID: AccountBinding] = [:]
        for contact in contacts {
            let profiles = contact.profiles
            if let account = profiles.whisper2 {
                // Several contacts may have the account: the one with the strongest binding is used.
                let binding = contact.binding(of: account)
                if bindings[account.id].map({ $0 < binding }) ?? true {
                    bindings[account.id] = binding
                    // Messages are the contact's only if the contact's own key names the account.
                    let id = contact.signs(with: account) ? contact.id : account.contactID
                    accounts[account.id] = (id, account)
                }
            }
            if let bundle = profiles.mercurio, contact.signs(with: bundle) {
                owners[bundle.id] = owners[bundle.id] ?? contact.id
            }
        }
    }

    /// Returns the keys of a Whisper2 account and the id whose messages are those of the account.
    private func account(_ id: WhisperID) -> (id: KeyID, account: Whisper2Contact)? {
        if let signer = signers.all.first(where: { $0.profiles.whisper2?.id == id }),
            let account = signer.profiles.whisper2
        {
            return (signer.signerID(of: account), account)
        }
        return accounts[id]
    }

    /// Returns the correspondent or contact that owns a Mercurio account.
    private func mercurioOwner(_ id: KeyID) -> KeyID? {
        for signer in signers.all {
            guard let bundle = signer.profiles.mercurio, bundle.id == id else { continue }
            if signer.signs(with: bundle) { return signer.id }
        }
        return owners[id]
    }

    /// Returns the sender of a session's message: from the pre-key message, the name, or `--from`.
    private func sender(_ name: String?, _ content: MessageFlowContent) throws -> KeyID {
        if let header = content.preKeyHeader { return KeyID(publicKey: header.identityKey) }
        if let name {
            if let id = KeyID(name) { return id }
            for person in signers.all where person.profiles.kecalek == name { return person.id }
            for contact in contacts where contact.profiles.kecalek == name {
                return contact.id
            }
        }
        if signers.all.count == 1 { return signers.all[0].id }
        throw Failure(
            .malformed, "the record does not name its sender",
            hint: "name the sender with --from NAME")
    }

    // MARK: Acknowledgements

    /// Writes acknowledgements for Message Flow's server, without distinguishing failures.
    func finish(_ batch: [ReadLine<Content>], _ results: [OpenedLine]) throws {
        guard let acknowledgements else { return }
        try acknowledgements.write(
            zip(batch, results).compactMap { line, result in
                guard let record = try? JSON.object(parsing: line.bytes),
                    let name = Self.serverName(record)
                else { return nil }
                if case .failed = result { return (name.id, false, name.isHTTP) }
                return (name.id, true, name.isHTTP)
            })
    }

    /// Returns the id of a message at Message Flow's server, readable or not, and whether it came over HTTP, without a
    /// type.
    private static func serverName(_ record: JSONObject) -> (id: String, isHTTP: Bool)? {
        let isHTTP = record["type"] == nil
        guard isHTTP || record["type"]?.string == "new_message" else { return nil }
        return (record["message"]?.object ?? record)["id"]?.string.map { ($0, isHTTP) }
    }
}
