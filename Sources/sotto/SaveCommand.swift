import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto save`: fetches and saves the files of messages.
struct SaveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "save", abstract: "Fetch the file of a message, and save it.",
        usage: """
            sotto save [-o FILE|FOLDER] NUMBER
            sotto save --all [-o FOLDER] WHO
            """,
        discussion: """
            Runs recv --blob NUMBER --keep && history save NUMBER. NUMBER is that of the message, as sotto history --text \
            shows it. With --all this is done for each file of WHO, except one with the name and length of a file in the \
            folder; a note tells the numbers of these messages. The paths are printed.

            EXAMPLES
              sotto save 17
              sotto save --all bob -o photos
            """)

    @Flag("--all", help: "Save the files of all messages of a contact or a group.")
    var all = false

    @Option(
        "-o", "--output", value: "file",
        help: "Write this file, or a file in this folder. Default: the current folder.")
    var output: String?

    @OptionGroup var identity: SharedIdentityOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("what", help: "The number of a message; with --all a contact or a group.")
    var what: String

    func execute() throws {
        guard all || Int64(what) != nil else {
            throw Failure(
                .usage, "\(what) is not the number of a message",
                hint:
                    "to save all files of a contact or a group: sotto save --all \(shellWord(what))"
            )
        }
        if all, let output {
            var status = stat()
            guard stat(output, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw Failure(
                    .cannotCreate, "\(output) is not a folder",
                    hint: "make it first: mkdir \(shellWord(output))")
            }
        }
        let identity = try identity.open()
        guard all else {
            return try Delivery.end(save(what, isFetched: isData(what, identity), identity))
        }
        let (files, left) = try files(of: what, identity)
        if !left.isEmpty, !quiet {
            let numbers = left.map { "\($0)" }.joined(separator: ", ")
            Terminal.say(
                "sotto: left out, because the folder has a file with this name and length: \(numbers); to save one: sotto save NUMBER"
            )
        }
        guard !files.isEmpty else {
            let text = "no message of \(what) has a file to save"
            throw Failure(.no, quiet || !left.isEmpty ? "" : text)
        }
        let failed = try files.map { try save("\($0)", identity) }.filter { $0 != 0 }
        guard let status = failed.last else { return }
        try Delivery.end(failed.count == files.count ? status : ExitStatus.partial.rawValue)
    }

    private var notes: [String] { quiet ? ["-q"] : [] }

    /// Whether a message has bytes that are no text, which are in the history.
    private func isData(_ number: String, _ identity: SharedIdentity) throws -> Bool {
        var show = identity.run(.history, last: ["show", "-q", "--json", "--", number])
        show.collectsMessages = true
        let record = records(in: try show.run().output).first
        return record?["body"]?.object?["type"]?.string == "data"
    }

    /// Saves the file of one message. Returns the status of the tool that failed, else 0.
    private func save(
        _ number: String, isFetched: Bool = false, _ identity: SharedIdentity
    ) throws -> Int32 {
        let fetched =
            isFetched
            ? 0 : try identity.run(.recv, notes + ["--blob", number, "--keep"]).run().status
        guard fetched == 0 else { return fetched }
        let place = output.map { ["-o", $0] } ?? []
        var save = identity.run(.history, last: ["save"] + notes + place + ["--", number])
        save.showsOutput = true
        return try save.run().status
    }

    /// Returns the numbers of the received messages with a file to save, and of those that are left out because the folder has a
    /// file with the same name and length. Its content can be another one.
    private func files(
        of who: String, _ identity: SharedIdentity
    ) throws -> (ready: [Int64], left: [Int64]) {
        let page = ["--limit", "1000000", "-q", "--", who]
        let result = try identity.run(.history, last: page).run()
        if result.status != ExitStatus.no.rawValue { try Delivery.end(result.status) }
        var (ready, left): ([Int64], [Int64]) = ([], [])
        for record in records(in: result.output) {
            guard record["direction"]?.string == "received", let number = record["number"]?.integer,
                let body = record["body"]?.object, body["type"]?.string == "file"
            else { continue }
            if isHere(body["name"]?.string, body["size"]?.integer) {
                left.append(number)
            } else {
                ready.append(number)
            }
        }
        return (ready, left)
    }

    /// Returns whether the folder has a file with this name and length.
    private func isHere(_ name: String?, _ size: Int64?) -> Bool {
        guard let name, let size, !name.isEmpty, !name.contains("/") else { return false }
        var status = stat()
        return stat("\(output ?? ".")/\(name)", &status) == 0
            && status.st_mode & S_IFMT == S_IFREG && Int64(status.st_size) == size
    }
}
