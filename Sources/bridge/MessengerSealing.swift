import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// The recipients of messages in a messenger's format without sessions.
struct MessengerTarget {
    let messenger: Messenger
    /// Cards and names; empty for a chat and for a group.
    let to: [String]
    /// The name or id of a group.
    let group: String?
    /// The file of the chat.
    let chat: String?
    let options: MessengerOptions
    let trust: TrustPolicy?
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?
    let quiet: Bool
}

/// Makes records of a messenger without sessions. The history has their messages before this returns.
struct MessengerSealing {
    private let messenger: Messenger
    private let keys: MessengerKeys
    /// The state with the history; `nil` if none is used.
    private let store: IdentityStore?
    /// The group whose members get the messages, or `nil`.
    private let group: GroupID?
    private let recipients: [MessengerRecipient]
    /// The failure to end with if some members of the group get no message.
    let unreached: Failure?

    init(_ target: MessengerTarget, attachment: Attachment?) throws {
        messenger = target.messenger
        let book = AddressBook(
            target.identity.load, lockTimeout: target.lockTimeout, accounts: MessengerAccounts())
        // A chat needs no identity, so a user without one can write to it.
        let identity = messenger == .shainy ? nil : try book.identity()
        if target.lockTimeout == nil {
            store = nil
        } else if messenger == .shainy {
            store = try book.storeWithoutPrompt(target.identity)
        } else {
            store = try book.writableStore()
        }
        let group = try target.group.map {
            try GroupRecipients($0, in: book, .whisper2(book, target.trust))
        }
        self.group = group?.id
        unreached = group?.unreached
        var options = target.options
        options.group = options.group ?? group?.id.description
        options.attachment = try attachment?.writeWhisper2()
        keys = MessengerKeys(
            identity: identity,
            chats: try target.chat.map { [try MessengerChat(record: book.chatRecord($0))] } ?? [],
            options: options)
        var people = try target.to.map { try book.find($0, for: .acting) }
        for person in people { try book.check(person, messenger: messenger, target.trust) }
        people += group?.people ?? []
        recipients =
            people.isEmpty
            ? [.chat] : people.map { MessengerRecipient(id: $0.id, profiles: $0.profiles) }
        if !target.quiet { note() }
    }

    private func note() {
        Terminal.say(
            "bridge: note: \(messenger.rawValue) is another messenger's format: \(messenger.format.legacyReason)"
        )
        guard messenger == .shainy else { return }
        if keys.options.isPublic {
            Terminal.say("bridge: warning: the channel is public: this is not confidential")
        } else if let chat = keys.chats.first?.chat,
            Double(chat.strength) < PhraseStrength.recommended
        {
            Terminal.say(
                "bridge: warning: the chat's phrase has about \(chat.strength) bits of entropy and can be guessed"
            )
        }
    }

    /// Returns the records of each message, or its failure. The state is on disk before it returns.
    func seal(_ messages: [MessageText]) throws -> [Result<[JSONObject], Failure>] {
        func seal(_ transaction: StateTransaction?) throws -> [Result<[JSONObject], Failure>] {
            try messages.map { message in try result { try self.seal(message, transaction) } }
        }
        guard let store else { return try seal(nil) }
        return try store.transaction { try seal($0) }
    }

    private func seal(
        _ message: MessageText, _ transaction: StateTransaction?
    ) throws -> [JSONObject] {
        // The members of a group get the same message; other recipients get one each.
        let milliseconds = Timestamp.milliseconds()
        let id = Envelope.newID()
        let format = messenger.format
        let envelopes = try recipients.map { recipient in
            let draft = Draft(
                body: message.body, extra: message.extra,
                id: keys.options.group == nil ? Envelope.newID() : id, milliseconds: milliseconds)
            return try format.seal(draft, to: recipient, with: keys)
        }
        let records = try format.records(of: envelopes, with: keys)
        guard let transaction, !message.isTransient else { return records }
        // A group of this state has one entry for a message.
        let count = group == nil ? envelopes.count : 1
        for (place, envelope) in envelopes.prefix(count).enumerated() {
            var sent = SentMessage(
                // The entries of one message to several people have an id each.
                id: place > 0 && keys.options.group != nil ? Envelope.newID() : envelope.id,
                to: recipients[place].id, time: envelope.time,
                suite: SuiteName(rawValue: messenger.rawValue), body: message.body)
            sent.details = try format.details(
                ofSealed: envelope, to: recipients[place], with: keys)
            sent.legacy = format.legacyReason
            sent.group = group
            try sent.record(in: transaction)
        }
        return records
    }
}

/// A message that was encrypted for another messenger, as the history has it.
struct SentMessage {
    let id: String
    /// The recipient, or `nil` for a chat or a group.
    let to: KeyID?
    let time: Timestamp
    let suite: SuiteName
    let body: JSONObject
    var extra: [(name: String, value: JSON)] = []
    var details: JSONObject?
    var legacy: String?
    /// The group of this state that got the message, or `nil`.
    var group: GroupID?

    /// Stores the message. Nothing is known of its way, because its record does not go to `send`.
    func record(in transaction: StateTransaction) throws(StateError) {
        var body = body
        // The id of another message in a reply is in the details, as its reader has it.
        if body["replyTo"]?.string != nil { body["replyTo"] = nil }
        var message = Message(
            id: id, from: transaction.owner.id, to: group == nil ? to : nil, time: time,
            suite: suite, authenticated: true, trust: .verified, details: details, legacy: legacy,
            body: body.recorded(in: nil, by: transaction.owner.id),
            members: JSONObject(extra.map { ($0.name, $0.value) }))
        message.group = group?.description
        try transaction.recordSent(message, state: .handedOn)
    }
}
