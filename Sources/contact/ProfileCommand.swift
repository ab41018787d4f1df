import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `contact profile`: the owner's profile, and those of contacts.
struct ProfileCommand: Program {
    static let configuration = CommandConfiguration(
        name: "profile",
        abstract: "Set and send your profile: name, text, picture, phone, location; or show one.",
        usage: """
            sotto contact profile set [--name NAME] [--about TEXT] [--avatar FILE]
                                      [--phone PHONE] [--location PLACE]
            sotto contact profile show [--text | --json] [NAME]
            sotto contact profile avatar [NAME] > picture.jpg
            sotto contact profile send [NAME ...] | sotto encrypt | sotto send
            sotto contact profile remove
            """,
        discussion: """
            set changes what is given and keeps the rest; an empty value removes a part. send prints a message for each \
            contact to whom the profile, as the contact sees it, was not sent yet; with names, for these contacts in any \
            case. In a pipe, set and remove print these messages too. A contact sees your phone and location only with phone=on and location=on (contact set). Nobody but \
            contacts gets a profile. What a contact got cannot be taken back: remove only replaces it by an empty one.
            """)

    /// The work of the command.
    enum Action: String, ExpressibleByArgument, CaseIterable {
        case set, show, avatar, send, remove
    }

    @Option("--name", value: "name", help: "The name that you use; with set.")
    var name: String?

    @Option("--about", value: "text", help: "A text about you; with set.")
    var about: String?

    @Option("--phone", value: "phone", help: "Your phone number; with set.")
    var phone: String?

    @Option("--location", value: "place", help: "Your location; with set.")
    var location: String?

    @Option(
        "--avatar", value: "file",
        help:
            "A JPEG or PNG picture, sent small and, from 8 KiB to 4 MiB, as a file too, without its metadata; with set."
    )
    var avatar: String?

    @OptionGroup var form: OutputForm

    @OptionGroup var options: ContactOptions

    @Argument("action", help: "The work of the command.")
    var action: Action

    @Argument("name", help: "The contacts. Default: your own profile; with send, all contacts.")
    var names: [String] = []

    func validate() throws {
        let values = [name, about, phone, location, avatar].compactMap(\.self)
        switch action {
        case .set:
            guard !values.isEmpty else {
                throw UsageError("nothing to set is given, such as --name or --about")
            }
            guard names.isEmpty else {
                throw UsageError("set changes your own profile, and takes no name")
            }
        case .remove:
            guard names.isEmpty else {
                throw UsageError("remove is for your own profile, and takes no name")
            }
        case .show, .avatar:
            guard names.count <= 1 else { throw UsageError("\(action.rawValue) takes one name") }
        case .send: break
        }
        guard action == .set || values.isEmpty else {
            throw UsageError("--name, --about, --phone, --location and --avatar are for set")
        }
        guard action == .show || !form.text else { throw UsageError("--text is for show") }
        guard action != .avatar || !form.json else {
            throw UsageError("--json is not for avatar")
        }
    }

    func execute() throws {
        switch action {
        case .set:
            let file = avatar.flatMap { $0.isEmpty ? nil : $0 }
            try options.withFile(file) { try set(picture: file.map(picture)) }
        case .show: try show()
        case .avatar: try printAvatar()
        case .send: try send()
        case .remove: try change { $0 = $0.without(Set(OwnerProfile.Part.allCases)) }
        }
    }

    // MARK: Own profile

    private func set(picture: Avatar?) throws {
        try change { profile in
            if let name { profile.name = try Self.line(name, "--name", limit: BodyLimits.name) }
            if let about { profile.about = try Self.text(about) }
            if let phone { profile.phone = try Self.line(phone, "--phone") }
            if let location { profile.location = try Self.line(location, "--location") }
            if avatar != nil {
                (profile.avatar, profile.picture) = (picture?.small, picture?.whole)
            }
        }
    }

    private func change(_ body: (inout OwnerProfile) throws -> Void) throws {
        let open = try options.open()
        let changed = try open.book.writableStore().transaction { try $0.changeOwnProfile(body) }
        if changed == nil { options.note("the profile is the same as before") }
        guard Terminal.isTerminal(1), !form.json else {
            return try print(open.book.store().map(due) ?? [])
        }
        guard let changed else { return }
        let option = options.identity.identityOption
        options.note(
            "the profile \(changed.parts.isEmpty ? "is empty" : "was changed"); to tell your contacts: sotto contact profile send\(option) | sotto encrypt\(option) | sotto send"
        )
    }

    /// Returns a text on one line, or `nil` for an empty one.
    private static func line(
        _ text: String, _ option: String, limit: Int = BodyLimits.detail
    ) throws(Failure) -> String? {
        let line = NameRule.trimmed(text)
        if line.isEmpty { return nil }
        guard line.utf8.count <= limit else {
            throw Failure(.usage, "\(option) is longer than \(limit) bytes")
        }
        if let reason = ContactName.characterRefusal(of: line) {
            throw Failure(.usage, reason.replacingAll("the name", with: option))
        }
        return line
    }

    /// Returns the description, or `nil` for an empty one.
    private static func text(_ text: String) throws(Failure) -> String? {
        if text.isEmpty { return nil }
        guard text.utf8.count <= BodyLimits.about else {
            throw Failure(.usage, "--about is longer than \(BodyLimits.about) bytes")
        }
        guard text.unicodeScalars.allSatisfy({ $0 == "\n" || !$0.isInvisible && $0 != "\u{FFFD}" })
        else {
            throw Failure(
                .usage, "--about has control or invisible characters, or is not UTF-8")
        }
        return text
    }

    /// A picture of the owner.
    private struct Avatar {
        /// A JPEG of at most ``BodyLimits/thumbnail`` bytes.
        let small: [UInt8]
        /// The picture in a blob; `nil` if it is not longer than a small one can be, or too long.
        let whole: OwnerProfile.Picture?
    }

    /// Returns the picture of a file. A long one is encrypted and stored for `send`, as `compose file` does it.
    private func picture(_ file: String) throws -> Avatar {
        let folder = try BlobFolder(directory: .standard())
        let attachment = Attachment(
            picture: file, blob: folder.new(), announcer: ContactTool.toolName)
        let body = try MessageBody(attachment.message(text: nil).body)
        guard case .file(let content) = body.kind, let blob = content.blob,
            let small = content.thumbnail,
            let format = OwnerProfile.Picture.Format(rawValue: content.contentType)
        else { throw Failure(.malformed, "\(file) is not a JPEG or PNG picture that can be read") }
        guard content.size > BodyLimits.thumbnail else { return Avatar(small: small, whole: nil) }
        guard
            let whole = OwnerProfile.Picture(blob: blob, size: content.size, format: format)
        else {
            options.note(
                "\(file) is longer than \(BodyLimits.picture >> 20) MiB, so contacts get only a small picture"
            )
            return Avatar(small: small, whole: nil)
        }
        try attachment.finish()
        try folder.keep(attachment.blob, digest: blob.digest)
        return Avatar(small: small, whole: whole)
    }

    // MARK: Output

    /// A profile to show.
    private struct Shown {
        let id: KeyID
        let profile: OwnerProfile
        /// The contact, or `nil` for the owner.
        let contact: Contact?
    }

    /// Returns the profile that was asked for. Throws a failure with status 1 without one.
    private func find(_ open: OpenBook) throws -> Shown {
        let contact = try names.first.flatMap { name in
            ContactName.meansOwner(name) ? nil : try open.contact(name, for: .reading)
        }
        let id = contact?.id ?? open.identity.id
        guard let profile = try open.book.store()?.profile(of: id), !profile.parts.isEmpty else {
            guard let contact else { throw Self.noProfile }
            throw Failure(
                .no, "\(contact.name.isEmpty ? contact.id.short : contact.name) sent no profile")
        }
        return Shown(id: id, profile: profile, contact: contact)
    }

    private static let noProfile = Failure(
        .no, "you have no profile", hint: "make one: sotto contact profile set --name NAME")

    private func show() throws {
        let open = try options.open()
        let found = try find(open)
        let store = try open.book.writableStore()
        let names = try store.preview { try $0.lookAlikeNames() }
        let due = try found.contact == nil ? self.due(store).count : nil
        let output = try Output(path: "-", content: .text)
        if form.isText {
            try output.writeText(text(found, names, due: due, store))
        } else {
            var record = ProfileRecord(id: found.id, found.profile).record
            record["due"] = due.map { .integer(Int64($0)) }
            record["looksLike"] = found.profile.name.flatMap {
                names.holder(like: $0, of: found.id).map { .string($0.name) }
            }
            try output.writeRecord(record)
        }
        try output.finish()
    }

    private func text(
        _ found: Shown, _ names: LookAlikeNames, due: Int?, _ store: IdentityStore
    ) throws -> String {
        var table = Table()
        let name = found.contact.map { $0.name.isEmpty ? $0.id.short : $0.name } ?? "me"
        table.add(["name", name])
        // The table has the beginning of the description.
        var shown = found.profile
        shown.about = nil
        shown.add(
            to: &table, of: found.id, names, picture: try store.message(ofPictureOf: found.id))
        for (place, line) in found.profile.aboutLines.enumerated() {
            table.add([place == 0 ? "about" : "", line])
        }
        table.add(["issued", found.profile.issued.description])
        if let due {
            for part in Contact.detailParts.sorted(by: { $0.rawValue > $1.rawValue })
            where found.profile.parts.contains(part) {
                let readers = try store.contacts().filter { $0.seenDetails.contains(part) }
                let shown = sentence(of: readers.map(\.name)) ?? "nobody"
                table.add(["\(part.rawValue) for", shown])
            }
            table.add(["not sent to", counted(due, "contact")])
        }
        return table.text
    }

    private func printAvatar() throws {
        let open = try options.open()
        let found = try find(open)
        guard let avatar = found.profile.avatar else {
            throw Failure(.no, "\(found.contact.map { $0.name } ?? "your profile") has no picture")
        }
        let output = try Output(path: nil, content: .binary)
        try output.write(avatar)
        try output.finish()
        guard found.contact != nil, let store = try open.book.store(),
            let number = try store.message(ofPictureOf: found.id)
        else { return }
        options.note("this is the small picture; to save the whole one: sotto save \(number)")
    }

    // MARK: Sending

    /// A message with the profile.
    private struct Due {
        let contact: Contact
        let profile: OwnerProfile
    }

    /// Returns the contacts to whom the present profile was not sent. A contact that no message reaches now is left out.
    private func due(_ store: IdentityStore) throws -> [Due] {
        try store.preview { transaction in
            try transaction.allContacts().compactMap { contact in
                guard !contact.name.isEmpty, !contact.isBlocked, contact.changed == nil,
                    try contact.card != nil || transaction.hasSession(with: contact.id),
                    let copy = try transaction.ownProfile(for: contact), copy.isDue
                else { return nil }
                return Due(contact: contact, profile: copy.profile)
            }
        }
    }

    /// Returns messages for these contacts, whether or not the profile is due.
    private func demanded(_ open: OpenBook, _ store: IdentityStore) throws -> [Due] {
        try names.map { name in
            let contact = try open.contact(name)
            guard !contact.name.isEmpty, !contact.isBlocked else {
                throw Failure(.no, "only a contact that is not blocked gets a profile")
            }
            guard let copy = try store.preview({ try $0.ownProfile(for: contact) }) else {
                throw Self.noProfile
            }
            return Due(contact: contact, profile: copy.profile)
        }
    }

    private func send() throws {
        try RecordOutput.check(isForced: form.json)
        let open = try options.open()
        guard let store = try open.book.store(), try store.profile(of: open.identity.id) != nil
        else { throw Self.noProfile }
        let messages = try names.isEmpty ? due(store) : demanded(open, store)
        guard !messages.isEmpty else {
            throw Failure(.no, options.quiet ? "" : "each contact has the present profile")
        }
        try print(messages)
    }

    private func print(_ messages: [Due]) throws {
        if let picture = messages.compactMap(\.profile.picture).first,
            try !BlobFolder(directory: .standard()).keeps(picture.blob)
        {
            options.note(
                "the whole picture is not here any more, so new contacts get only the small one; to give it again: sotto contact profile set --avatar FILE"
            )
        }
        let output = try Output(path: "-", content: .text)
        for message in messages {
            let body = MessageBody(.profile(message.profile))
            try output.writeRecord(ComposedMessage(to: message.contact.id, body).record)
        }
        try output.finish()
    }
}
