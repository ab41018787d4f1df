import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct ImportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "import",
        abstract:
            "Import contacts from records, cards, URIs or a backup; known contacts are not changed."
    )

    @OptionGroup var passphrase: BackupPassphrase

    @OptionGroup var options: ContactOptions

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    private static let lineLimit = 1 << 20

    func execute() throws { try options.withFile(file) { try read() } }

    private func read() throws {
        let source = PeekingSource(try Input(path: file))
        try source.skipByteOrderMark()
        let open = try options.open()
        var content: any ByteSource = source
        var isOurs = false
        if let file = try passphrase.open(source, of: open.identity) {
            let bytes = try contents(of: file)
            guard !bytes.starts(with: SignedStream.magic) else {
                throw Failure(
                    .usage,
                    "the file is a backup of messages too, and only sotto history import reads it"
                )
            }
            isOurs = try ContactBackup.isGenuine(bytes, of: open.identity)
            if !isOurs {
                options.note(
                    "this is not a backup of this identity: no contact is imported as verified")
            }
            content = MemorySource(bytes)
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

    private func contents(of file: any ByteSource) throws -> [UInt8] {
        let memory = MemorySink()
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try block.withUnsafeMutableBytes { try file.read(into: $0) }
            if count == 0 { return memory.bytes }
            try memory.write(Array(block[..<count]))
            guard memory.bytes.count <= ContactBackup.limit else {
                throw Failure(
                    .malformed, "the backup is longer than \(ContactBackup.limit) bytes")
            }
        }
    }
}
