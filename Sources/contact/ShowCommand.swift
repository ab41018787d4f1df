import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct ShowCommand: Program {
    static let configuration = CommandConfiguration(
        name: "show",
        abstract: "Show a contact with the safety number to compare, or print the contact's card.")

    @OptionGroup var form: OutputForm

    @Flag(
        "--card",
        help: "Print only the contact's card, for a pipe or a file: the signed record, or the URI.")
    var card = false

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A name, an id, or the beginning of one.")
    var name: String

    func validate() throws {
        guard !card || !form.json && !form.text else {
            throw UsageError("--card cannot be combined with --json or --text")
        }
    }

    func execute() throws {
        let open = try options.open()
        let contact = try open.contact(name, for: .reading)
        if card { return try print(cardOf: contact) }
        let own = contact.isKeyless ? nil : try Self.fingerprints(contact.id, open.identity)
        let waiting = try open.waiting(from: contact).count
        let store = try open.book.writableStore()
        let protection = try Protection(of: contact, store)
        let names = try store.preview { try $0.lookAlikeNames() }
        let profile = try store.profile(of: contact.id)
        let picture = try store.message(ofPictureOf: contact.id)
        let output = try Output(path: "-", content: .text)
        if !form.isText {
            var record = contact.shownRecord(names)
            if own != nil { protection.add(to: &record) }
            record["profile"] = profile.map { .object(JSONObject($0.members)) }
            record["address"] = contact.address.map {
                .string($0.id(of: open.identity).description)
            }
            record["formerAddresses"] = nil
            record["fingerprint"] = own.map { .string($0.theirs) }
            record["safetyNumber"] = own.map { .string($0.number) }
            record["requests"] = .integer(Int64(waiting))
            try output.writeRecord(record)
        } else {
            let changed = try contact.changed.map { try Self.fingerprints($0.id, open.identity) }
            let news = try store.preview { try $0.news(of: contact.id) }
            try output.writeText(
                text(
                    contact, profile, picture: picture, news, names, protection, own, changed,
                    waiting))
        }
        try output.finish()
    }

    private func print(cardOf contact: Contact) throws {
        guard let card = contact.card else {
            throw Failure(
                .noKey, "no card of \(contact.name) is known",
                hint: "get the card: \(cardLookupCommand(contact.id, name: contact.name))")
        }
        let output = try Output(path: "-", content: .text)
        if let record = card.record {
            try output.writeRecord(record)
        } else {
            try output.writeText(card.uri.text + "\n")
        }
        try output.finish()
    }

    private typealias Numbers = (theirs: String, number: String)

    private static func fingerprints(_ id: KeyID, _ identity: Identity) throws -> Numbers {
        guard let theirs = Fingerprint(id), let ours = Fingerprint(identity.id) else {
            throw Failure(.malformed, "the id does not contain a valid public key")
        }
        return (theirs.digits, Fingerprint.safetyNumber(ours, theirs, style: .sotto))
    }

    private func text(
        _ contact: Contact, _ profile: OwnerProfile?, picture: Int64?, _ news: KnownNews,
        _ names: LookAlikeNames,
        _ protection: Protection, _ own: Numbers?, _ offered: Numbers?, _ waiting: Int
    ) -> String {
        var table = Table()
        table.add(["name", contact.name.isEmpty ? "-" : contact.name])
        if let holder = names.holder(like: contact.name, of: contact.id) {
            table.add(["", "the name \(holder.likeness)"])
        }
        table.add(["id", contact.id.description])
        table.add(["trust", contact.trust.rawValue])
        if let failure = contact.doubtFailure { table.add(["", failure.message]) }
        if contact.isKeyless {
            table.add(["", "a contact " + contact.keylessNote])
        }
        let covered = contact.verifiedKeys
        if !covered.isEmpty { table.add(["compared", covered.joined(separator: ", ")]) }
        if contact.isBlocked { table.add(["blocked", "yes"]) }
        let suite = protection.suite.rawValue
        if own != nil {
            table.add(["suite", contact.suite == nil ? "auto, now \(suite)" : suite])
        }
        let signals = [
            ("receipts", contact.getsReceipts), ("typing", contact.getsTyping),
            ("presence", contact.getsPresence),
            ("sees phone", contact.seenDetails.contains(.phone)),
            ("sees location", contact.seenDetails.contains(.location)),
        ]
        for (name, isOn) in signals where isOn { table.add([name, "on"]) }
        if contact.getsRepeats { table.add(["repair", "auto"]) }
        if own != nil {
            let since = protection.since()
            table.add(["session", protection.session == nil ? since : "since \(since)"])
            table.add(["postquantum", protection.isPostQuantum ? "yes" : "no"])
            table.add(["card", Self.describe(contact.card)])
        }
        if let name = contact.card?.name, !name.isEmpty, name != contact.name {
            table.add(["their name", name])
            if let holder = names.holder(like: name, of: contact.id) {
                table.add(["", "their name \(holder.likeness)"])
            }
        }
        if let profile { profile.add(to: &table, of: contact.id, names, picture: picture) }
        if let relay = contact.card?.relay { table.add(["relay", relay]) }
        if contact.address != nil {
            table.add(["address", "a send address only for this contact"])
        }
        for row in Self.rows(contact) { table.add(row) }
        table.add(["added", contact.added.description])
        if waiting > 0 {
            let id = contact.isKeyless ? contact.argument : contact.id.short
            table.add(["requests", "\(waiting), list: sotto contact requests \(id)"])
        }
        if let own {
            table.add(["fingerprint", Fingerprint.grouped(own.theirs)])
            table.add(["safety no.", Fingerprint.grouped(String(own.number.prefix(30)))])
            table.add(["", Fingerprint.grouped(String(own.number.suffix(30)))])
        }
        if let changed = contact.changed, let offered {
            let isSame = changed.id == contact.id
            table.add([
                "changed key", isSame ? "the same id with different keys" : changed.id.description,
            ])
            table.add(["", Self.describe(changed)])
            if news.isForked {
                table.add(["", "the old key signed two new keys, so neither counts"])
            } else if let succession = news.succession, succession.next == changed.id {
                table.add(["", "the old key signed it on \(succession.issued)"])
            }
            if !isSame {
                let number = offered.number
                table.add(["", "fingerprint " + Fingerprint.grouped(offered.theirs)])
                table.add(["", "safety no.  " + Fingerprint.grouped(String(number.prefix(30)))])
                table.add(["", "            " + Fingerprint.grouped(String(number.suffix(30)))])
            }
            table.add(["", "\(contact.acceptKeyCommand),"])
            table.add(["", "or sotto contact keep-key \(shellWord(contact.name))"])
            if !isSame { table.add(["", "another person: add the card with --name"]) }
        }
        return table.text
    }

    private static func rows(_ contact: Contact) -> [[String]] {
        let profiles = contact.profiles
        var rows: [[String]] = []
        if let id = profiles.kecalek { rows.append(["kecalek", id]) }
        if let account = profiles.whisper2 {
            rows.append(["whisper2", account.id.description])
            rows.append(["", "key  " + Base64.standard.encode(account.encryptionKey)])
            if let key = account.signingKey {
                rows.append(["", "skey " + Base64.standard.encode(key)])
            }
            rows.append(["", describe(contact.binding(of: account))])
        }
        if let id = profiles.whisperID {
            rows.append(["whisper2", "\(id), the keys are not known"])
        }
        if let bundle = profiles.mercurio {
            rows.append(["mercurio", bundle.id.description])
            rows.append(["", "RSA, \(bundle.key.modulus.count * 8) bits"])
            rows.append(["", describe(contact.binding(of: bundle))])
        }
        return rows
    }

    private static func describe(_ binding: AccountBinding) -> String {
        switch binding {
        case .introduced: "introduced: not signed by the contact"
        case .firstUse: "trusted on first use, not compared"
        case .compared: "compared with its owner"
        case .proven: "signed by the contact's key"
        }
    }

    private static func describe(_ card: Card?) -> String {
        guard let card else { return "none" }
        let keys = card.hybrid == nil ? "without a post-quantum key" : "post-quantum"
        return (card.record == nil ? "a URI, not signed, " : "signed, ") + keys
    }
}

extension OwnerProfile {
    /// Adds what a contact claims, and the known name that the claimed name looks like. `message` is the number of the message with
    /// the whole picture, or `nil`.
    func add(
        to table: inout Table, of id: KeyID, _ names: LookAlikeNames, picture message: Int64?
    ) {
        for row in rows { table.add(row) }
        if let picture, let message {
            table.add(["", "the whole one, \(picture.size) bytes: sotto save \(message)"])
        }
        if let holder = name.flatMap({ names.holder(like: $0, of: id) }) {
            table.add(["", "the name \(holder.likeness)"])
        }
    }
}

extension Contact {
    /// Returns the record to display, with all accounts, including those on the card, and with the known name that the contact's
    /// name looks like.
    func shownRecord(_ names: LookAlikeNames) -> JSONObject {
        var record = record
        if !profiles.isEmpty { record["profiles"] = .object(profiles.object) }
        // The compared keys are internal; `verifiedKeys` names what they cover.
        record["compared"] = nil
        let covered = verifiedKeys
        if !covered.isEmpty { record["verified"] = .array(covered.map { .string($0) }) }
        record["looksLike"] = names.holder(like: name, of: id).map { .string($0.name) }
        return record
    }
}
