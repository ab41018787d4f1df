import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import SottoTool

/// Makes records of a messenger without sessions.
struct MessengerSealing {
    private let messenger: Messenger
    private let keys: MessengerKeys
    private let recipients: [MessengerRecipient]

    init(tool: SealCommand, _ messenger: Messenger, attachment: Attachment?) throws {
        self.messenger = messenger
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        // A chat needs no identity, so a user without one can write to it.
        let identity = messenger == .shainy ? nil : try book.identity()
        var options = MessengerOptions()
        options.gcm = tool.gcm
        options.hidesHash = tool.hidesHash
        options.isPublic = tool.publicChannel
        options.showsSecret = tool.showSecret
        options.group = tool.group
        options.whisperID = tool.whisperID
        options.attachment = try attachment?.writeWhisper2()
        keys = MessengerKeys(
            identity: identity,
            chats: try tool.chat.map { [try MessengerChatFile.read($0)] } ?? [], options: options)
        let people = try tool.to.map { argument -> Correspondent in
            guard tool.stateless else { return try book.find(argument) }
            return try Self.stateless(argument, book)
        }
        if !tool.stateless {
            for person in people { try book.check(person, messenger: messenger, tool.trust) }
        }
        recipients =
            people.isEmpty
            ? [.chat] : people.map { MessengerRecipient(id: $0.id, profiles: $0.profiles) }
        if !tool.quiet { note(tool) }
    }

    /// Returns a correspondent without the address book.
    private static func stateless(_ argument: String, _ book: AddressBook) throws -> Correspondent {
        if RecipientArgument.isWhisper2(argument) {
            let account = try Whisper2AddURL.contact(argument)
            guard let key = account.signingKey else { throw Failure.noSigningKey }
            return Correspondent(
                id: SessionID(publicKey: key), card: nil, contact: nil,
                profiles: Profiles(whisper2: account))
        }
        let card =
            try ContactName.meansOwner(argument)
            ? book.identity().card() : RecipientArgument.card(argument)
        return Correspondent(
            id: card.id, card: card, contact: nil, profiles: try card.profiles())
    }

    private func note(_ tool: SealCommand) {
        Terminal.say(
            "bridge: note: \(messenger.rawValue) is another messenger's format: \(messenger.format.legacyReason)"
        )
        guard messenger == .shainy else { return }
        if tool.publicChannel {
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
