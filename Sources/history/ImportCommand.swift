import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history import`: a backup, or records.
struct ImportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "import",
        abstract: "Import a backup, or message records; messages that are here do not change.",
        usage: "sotto history import [--passphrase SOURCE] [-q] [FILE]",
        discussion: """
            A backup of this identity restores contacts, groups, conversations, messages and readers, and no session. \
            Messages of any other file are marked as imported: nothing proves their authors, and they change no other \
            message. If an import was interrupted, repeat it. A member of each restored group must confirm it: \
            group sync asks.
            """)

    @OptionGroup var passphrase: BackupPassphrase

    @OptionGroup var options: HistoryOptions

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    private static let lineLimit = 1 << 20

    func execute() throws {
        try AddressBook.withFiles(
            [file], options.identity.choice, lockTimeout: options.lock.timeout,
            hint: { $0.reading }, { try read() })
    }

    private func read() throws {
        let source = PeekingSource(try Input(path: file))
        try source.skipByteOrderMark()
        let book = AddressBook(
            { try options.identity.load() }, lockTimeout: options.lock.timeout)
        let identity = try book.identity()
        var content: any ByteSource = source
        var isOwn = false
        if let file = try passphrase.open(source, of: identity) {
            (content, isOwn) = try verified(PeekingSource(file), identity)
        }
        var work = try HistoryImport(try book.writableStore(), isOwn: isOwn)
        do {
            var lines = LineReader(content, limit: Self.lineLimit)
            while let line = try lines.next() {
                try work.collect(line, number: lines.number)
                if try lines.mustWait() { try work.process() }
            }
        } catch let error as SignedStreamError {
            // The records before the error are authentic.
            try work.finish()
            throw error
        }
        try work.finish()
        guard !work.isEmpty else { throw Failure(.no, options.quiet ? "" : "the input is empty") }
        if !options.quiet { work.report() }
        try work.outcome.end(tool: HistoryTool.toolName)
    }

    /// Returns the content of a decrypted file, and whether this identity signed it as a backup.
    private func verified(
        _ file: PeekingSource, _ identity: Identity
    ) throws -> (content: any ByteSource, isOwn: Bool) {
        guard try file.peek(SignedStream.magic.count) == SignedStream.magic else {
            return (file, false)
        }
        let reader = try SignedStreamReader(file)
        // Another device than machine one reads what machine one wrote for it, and its own backups.
        let signers = [identity.device, identity.id].map(\.publicKey)
        guard signers.contains(reader.signer),
            reader.audience == SignedStream.backupAudience(of: identity.device.description)
        else {
            throw Failure(
                .untrusted, "this is not a backup of this identity",
                hint: "name the identity of the backup with -i")
        }
        return (reader, true)
    }
}
