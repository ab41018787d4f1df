import Arguments
import Glibc
import Sotto
import SottoMessages
import SottoState
import SottoTool

/// `history save`: decrypts the file of a message that `recv --blob --keep` fetched.
struct SaveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "save",
        abstract: "Save the file of a message that recv fetched, or bytes that are no text.",
        usage: "sotto history save [-q] [-o FILE|FOLDER] ID",
        discussion: """
            In a folder, by default the current one, the file gets the sender's name without a path or a leading dot, and \
            replaces nothing. The path is printed.

            EXAMPLES
              sotto recv --blob 17 --keep && sotto history save 17
            """)

    @Option(
        "-o", "--output", value: "file",
        help: "Write this file, or a file in this folder. Default: the current folder.")
    var output: String?

    @OptionGroup var options: HistoryOptions

    @Argument("id", help: "The message.")
    var id: String

    func execute() throws {
        let entry = try options.open().message(id)
        if case .data(let bytes)? = entry.body?.kind { return try save(bytes, of: entry) }
        guard let file = AttachedFile(record: entry.record) else {
            throw Failure(.noInput, "the message is not a file")
        }
        guard case .blob(let pointer, _) = try file.validForm(), let place = pointer.place else {
            throw Failure(
                .noInput, "the file of the message is not at a relay",
                hint: "ask the sender for it, and open it with sotto decrypt --attachment")
        }
        let fetched = try BlobFolder(directory: .standard()).incoming(place.id, of: entry.record)
        var status = stat()
        guard stat(fetched, &status) == 0, Int64(status.st_size) == pointer.size else {
            throw Failure(
                .no, "the file is not in the state: it was not fetched yet, or was saved before",
                hint: "fetch it: sotto recv --blob \(entry.number) --keep")
        }
        let target = output ?? "."
        let path = try AttachmentOpening(file).open(fetched, to: target) ?? target
        unlink(fetched)
        try show(path)
    }

    /// Saves the bytes of a message that is no text.
    private func save(_ bytes: [UInt8], of entry: HistoryEntry) throws {
        let target = output ?? "."
        let isFolder = AttachedFile.isFolder(target)
        let path =
            try isFolder
            ? AttachedFile.freePath(for: "message-\(entry.number).bin", in: target) : target
        let file = try Output(path: path, content: .unknown, replacing: !isFolder)
        try file.write(bytes)
        try file.finish()
        try show(path)
    }

    private func show(_ path: String) throws {
        guard path != "-" else { return }
        let names = try Output(path: nil, content: .text)
        try names.writeText(path + "\n")
        try names.finish()
    }
}
