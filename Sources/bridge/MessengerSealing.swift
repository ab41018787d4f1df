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

/// Makes records of a messenger without sessions.
struct MessengerSealing {
    private let messenger: Messenger
    private let keys: MessengerKeys
    private let recipients: [MessengerRecipient]
    /// The failure to end with if some members of the group get no message.
    let unreached: Failure?

    init(_ target: MessengerTarget, attachment: Attachment?) throws {
        messenger = target.messenger
        let book = AddressBook(
            target.identity.load, lockTimeout: target.lockTimeout, accounts: MessengerAccounts())
        // A chat needs no identity, so a user without one can write to it.
        let identity = messenger == .shainy ? nil : try book.identity()
        let group = try target.group.map {
            try GroupRecipients($0, in: book, target.trust)
        }
        unreached = group?.unreached
        var options = target.options
        options.group = options.group ?? group?.id.description
        options.attachment = try attachment?.writeWhisper2()
        keys = MessengerKeys(
            identity: identity,
            chats: try target.chat.map { [try MessengerChatFile.read($0)] } ?? [], options: options)
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

    /// Returns the records of each message, or its failure.
    func seal(_ messages: [MessageText]) throws -> [Result<[JSONObject], Failure>] {
        try messages.map { message in try result { try seal(message) } }
    }

    private func seal(_ message: MessageText) throws -> [JSONObject] {
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
        return try format.records(of: envelopes, with: keys)
    }
}
