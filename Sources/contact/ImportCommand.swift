import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ImportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "import",
        abstract:
            "Import contacts from records, cards, URIs or a backup; known contacts are not changed."
    )

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the backup: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @OptionGroup var options: ContactOptions

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
    }

    private static let lineLimit = 1 << 20

    func execute() throws {
        let source = PeekingSource(try Input(path: file))
        let open = try options.open()
        var content: any ByteSource = source
        var isOurs = false
        if AgeFormat.isAge(try source.peek(64)) {
            let bytes = try decrypt(source, open.identity)
            guard !bytes.starts(with: SignedStream.magic) else {
                throw Failure(
                    .usage, "the file is a backup of messages too, and only history import reads it"
                )
            }
            isOurs = try ContactBackup.isGenuine(bytes, of: open.identity)
            if !isOurs {
                options.note(
                    "this is not a backup of this identity: no contact is imported as verified")
            }
            content = MemorySource(bytes)
        } else if passphrase != nil {
            throw Failure(.usage, "--passphrase is only for a backup, but the input is not one")
        }
        var work = try ContactLines(store: try open.book.writableStore(), isOurs: isOurs)
        var lines = LineReader(content, limit: Self.lineLimit)
        while let line = try lines.next() {
            try work.collect(line, number: lines.number)
            if try lines.mustWait() { try work.process() }
        }
        try work.process()
        try report(work)
    }

    private func report(_ work: ContactLines) throws {
        try work.output.finish()
        work.knownNames.forEach { options.note("\($0) is already a contact and was not changed") }
        guard !work.outcome.isEmpty else {
            throw Failure(.no, options.quiet ? "" : "the input has no contacts")
        }
        options.note("\(counted(work.added, "contact")) added")
        try work.outcome.end(tool: ContactTool.toolName)
    }

    private func decrypt(_ source: any ByteSource, _ identity: Identity) throws -> [UInt8] {
        let reader = try AgeFileReader(
            source, identities: IdentityFile.sotto(identity).ageIdentities
        ) {
            try passphrase?.passphrase()
                ?? Passphrase(try Terminal.ask("Passphrase of the backup: ", secret: true))
        }
        let memory = MemorySink()
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
            if count == 0 { return memory.bytes }
            try memory.write(Array(block[..<count]))
            guard memory.bytes.count <= ContactBackup.limit else {
                throw Failure(
                    .malformed, "the backup is longer than \(ContactBackup.limit) bytes")
            }
        }
    }
}
