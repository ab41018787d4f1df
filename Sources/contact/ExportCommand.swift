import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export", abstract: "Print contacts as records, or write an encrypted backup.",
        usage: """
            sotto contact export [-o FILE] [NAME ...]
            sotto contact export --backup [--passphrase SOURCE] [-o FILE]
            """)

    @OptionGroup var backup: BackupOptions

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The contacts to export. Default: all.")
    var names: [String] = []

    func validate() throws {
        guard !backup.isBackup || names.isEmpty else {
            throw UsageError("a backup contains all contacts and takes no names")
        }
    }

    func execute() throws {
        try backup.checkOutput(options.identity)
        let open = try options.open()
        let contacts =
            names.isEmpty
            ? try open.book.store()?.contacts() ?? []
            : try names.map { try open.contact($0, for: .reading) }
        guard !contacts.isEmpty else {
            throw Failure(.no, options.quiet ? "" : "the address book is empty")
        }
        if backup.isBackup { return try write(backupOf: contacts, open.identity) }
        let output = try Output(path: backup.output, content: .text)
        for contact in contacts { try output.writeRecord(contact.record) }
        try output.finish()
    }

    private func write(backupOf contacts: [Contact], _ identity: Identity) throws {
        let output = try Output(path: backup.output, content: .binary)
        let writer = try AgeFile.backupWriter(
            of: identity, passphrase: backup.passphrase, to: output)
        try writer.write(ContactBackup.content(contacts, of: identity))
        try writer.finish()
        if output.isFile {
            let key = backup.passphrase == nil ? "the identity" : "the passphrase"
            // The signature is this identity's, so another identity does not import a contact as verified from it.
            let rest =
                backup.passphrase == nil ? "" : " (another identity imports no contact as verified)"
            options.note(
                "\(counted(contacts.count, "contact")) saved; \(key) restores them\(rest): sotto contact import \(shellWord(backup.output ?? "-"))"
            )
        }
    }
}
