import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract:
            "List the contacts: name, trust, id, suite, session, post-quantum keys, and marks.")

    @OptionGroup var form: OutputForm

    @OptionGroup var options: ContactOptions

    func execute() throws {
        guard let store = try options.open().book.store(),
            case let (contacts, names) = try Self.read(store), !contacts.isEmpty
        else {
            throw Failure(
                .no, options.quiet ? "" : "the address book is empty",
                hint: options.quiet ? nil : "show how to add a contact: sotto add --help")
        }
        let output = try Output(path: "-", content: .text)
        if !form.isText {
            for contact in contacts {
                var record = contact.shownRecord(names)
                let claimed = try store.profile(of: contact.id)?.name
                record["claimedName"] = claimed.map { .string($0) }
                if !contact.name.isEmpty, !contact.isKeyless {
                    try Protection(of: contact, store).add(to: &record)
                }
                try output.writeRecord(record)
            }
        } else {
            var table = Table()
            for contact in contacts { try table.add(Self.row(contact, names, store)) }
            try output.writeText(table.text)
        }
        try output.finish()
    }

    private static func read(
        _ store: IdentityStore
    ) throws -> (contacts: [Contact], names: LookAlikeNames) {
        try store.preview { transaction in
            let contacts = try transaction.allContacts()
            return (contacts, try transaction.lookAlikeNames(beside: contacts))
        }
    }

    private static func row(
        _ contact: Contact, _ names: LookAlikeNames, _ store: IdentityStore
    ) throws -> [String] {
        let isNameless = contact.name.isEmpty
        var marks: [String] = []
        if contact.isBlocked { marks.append("blocked") }
        if contact.changed != nil { marks.append("changed key") }
        switch contact.doubt {
        case .revoked: marks.append("revoked")
        case .void, .fork: marks.append("key in doubt")
        case nil: break
        }
        if contact.isKeyless {
            let lacksKeys = contact.profiles.whisperID != nil
            if !isNameless {
                marks.append(lacksKeys ? "cannot be written to" : "not authenticated")
            }
        } else if contact.card == nil, !isNameless {
            marks.append("no card")
        }
        let profiles = contact.profiles
        if profiles.kecalek != nil { marks.append(Profile.kecalek.rawValue) }
        if profiles.whisper2 != nil || profiles.whisperID != nil {
            marks.append(Profile.whisper2.rawValue)
        }
        if profiles.mercurio != nil { marks.append(Profile.mercurio.rawValue) }
        if let holder = names.holder(like: contact.name, of: contact.id) {
            marks.append(holder.likeness)
        }
        // The contact's own name for itself, if it is another one.
        if let profile = try store.profile(of: contact.id), let name = profile.name,
            !NameRule.areSame(name, contact.name), let claim = profile.claimedName
        {
            let likeness = names.holder(like: name, of: contact.id).map { ", which \($0.likeness)" }
            marks.append("calls itself \(claim)\(likeness ?? "")")
        }
        let isUnprotected = isNameless || contact.isKeyless
        let protection = isUnprotected ? ["-", "-", "-"] : try Protection(of: contact, store).cells
        return [
            isNameless ? "-" : Table.cut(contact.name, to: Table.nameWidth),
            isNameless ? "-" : contact.trust.rawValue,
            contact.isKeyless ? contact.shownID : contact.id.short,
        ] + protection + [marks.joined(separator: ", ")]
    }
}
