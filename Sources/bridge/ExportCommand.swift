import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export",
        abstract: "Write a key or the contacts in a messenger's own file format.",
        usage: """
            sotto bridge export ecp1 [--password SOURCE] -o KEYFILE [IDENTITY]
            sotto bridge export rsa [--password SOURCE | --unprotected] -o KEYFILE [IDENTITY]
            sotto bridge export contacts [--json] [-o FILE] [NAME ...]
            """,
        discussion: """
            ecp1 is Kecalek's key file with the signing key; rsa is the RSA key for Mercurio in PKCS #8 PEM format. Both are \
            protected by a separate password. contacts is Whisper2's encrypted backup of its contacts, which the words open.

            EXAMPLES
              sotto bridge export ecp1 -o alice.ecp1 alice.key
              sotto bridge export rsa -o alice.pem alice.key
              sotto bridge export contacts -o contacts.w2
            """)

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var password: PasswordOptions

    @Flag("--unprotected", help: "Write the RSA key without a password.")
    var unprotected = false

    @Flag("--json", help: "For contacts: write the JSON record for the server.")
    var json = false

    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("what", help: "The format to write: ecp1, rsa or contacts.")
    var kind: ExportMode

    @Argument("name", help: "The identity file; for contacts, the contacts. Default: as -i; all.")
    var names: [String] = []

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: kind) }

    func validate() throws {
        if unprotected { try given.refuse("--password", with: "--unprotected") }
        guard kind == .contacts || names.count <= 1 else {
            throw UsageError("only one identity file can be given")
        }
    }

    func execute() throws {
        switch kind {
        case .ecp1: try exportECP1()
        case .rsa: try exportRSA()
        case .contacts: try exportContacts()
        }
    }

    private func secret() throws -> SecretBytes {
        try NewSecret("password", tool: BridgeTool.toolName).read(password.password)
    }

    private func exportECP1() throws {
        let output = try destination.open(.binary, tool: BridgeTool.toolName)
        if output.isTerminal {
            throw Failure(
                .usage, "refusing to write a key file to the terminal",
                hint: "write to a file with -o, or redirect the output")
        }
        let owner = try identity.load(argument: names.first)
        Terminal.say(
            "\(BridgeTool.toolName): warning: the password of an ECP1 file is easy to guess (PBKDF2); an identity file made with --protect is safer"
        )
        try output.write(ECP1File(sealing: owner.signingSeed(), password: secret()).bytes)
        try output.finish()
    }

    private func exportRSA() throws {
        let output = try destination.open(tool: BridgeTool.toolName)
        let owner = try identity.load(argument: names.first)
        guard let key = try owner.rsaKey() else { throw MessengerError.noRSAKey }
        if unprotected {
            try key.pem().withBytes { try output.write($0) }
        } else {
            try output.write(Array(key.pem(password: secret()).utf8))
        }
        try output.finish()
    }

    private func exportContacts() throws {
        let book = AddressBook(
            identity.load, lockTimeout: lock.timeout, accounts: MessengerAccounts())
        let owner = try book.identity()
        let contacts =
            names.isEmpty
            ? try book.store()?.contacts() ?? []
            : try names.map { name in
                guard let found = try book.lookUp(name, for: .reading) else {
                    throw Failure.noContact(name)
                }
                return found
            }
        guard !contacts.isEmpty else {
            throw Failure(.no, quiet ? "" : "the address book is empty")
        }
        let entries = contacts.compactMap { Whisper2Entry($0) }
        guard !entries.isEmpty else {
            throw Failure(.no, quiet ? "" : "no contact has a Whisper2 account")
        }
        try Output.check(destination.path, isNoneOf: identity.files)
        let output = try Output(path: destination.path, content: json ? .text : .binary)
        let backup = try Whisper2Backup.seal(entries, owner)
        if json {
            try output.writeLine(backup.record)
        } else {
            try output.write(backup.file)
        }
        try output.finish()
    }
}
