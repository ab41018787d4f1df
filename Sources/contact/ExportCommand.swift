import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export", abstract: "Print contacts as records, or write an encrypted backup.",
        usage: """
            contact export [-o FILE] [NAME ...]
            contact export --backup [--passphrase SOURCE] [-o FILE]
            """)

    @Flag(
        "--backup",
        help: "Write all contacts as an age file, encrypted to your own post-quantum key.")
    var backup = false

    @Option(
        "--passphrase", value: "source",
        help: "Encrypt the backup with this passphrase instead: @ENV:NAME, @FD:N or @FILE:PATH.")
    var passphrase: SecretSource?

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The contacts to export. Default: all.")
    var names: [String] = []

    func validate() throws {
        try passphrase?.validate()
        guard backup || passphrase == nil else {
            throw UsageError("--passphrase requires --backup")
        }
        guard !backup || names.isEmpty else {
            throw UsageError("a backup contains all contacts and takes no names")
        }
    }

    func execute() throws {
        try Output.check(
            output, isNoneOf: options.identity.files + [passphrase?.path].compactMap(\.self))
        let open = try options.open()
        let contacts =
            names.isEmpty
            ? try open.book.store()?.contacts() ?? [] : try names.map { try open.contact($0) }
        guard !contacts.isEmpty else {
            throw Failure(.no, options.quiet ? "" : "the address book is empty")
        }
        if backup { return try write(backupOf: contacts, open.identity) }
        let output = try Output(path: output, content: .text)
        for contact in contacts { try output.writeRecord(contact.record) }
        try output.finish()
    }

    private func write(backupOf contacts: [Contact], _ identity: Identity) throws {
        let access: AgeAccess =
            try passphrase.map { .passphrase(try $0.passphrase()) }
            ?? .recipients([.hybrid(identity.hybridKey.recipient)])
        let output = try Output(path: output, content: .binary)
        let writer = try AgeFile.writer(for: access, to: output)
        try writer.write(ContactBackup.content(contacts, of: identity))
        try writer.finish()
        if output.isFile {
            let key = passphrase == nil ? "the identity" : "the passphrase"
            // The signature is this identity's, so another identity does not import a contact as verified from it.
            let rest = passphrase == nil ? "" : " (another identity imports no contact as verified)"
            options.note(
                "\(counted(contacts.count, "contact")) saved; \(key) restores them\(rest): contact import \(shellWord(self.output ?? "-"))"
            )
        }
    }
}
