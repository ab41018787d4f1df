public import Arguments
import Sotto
public import SottoBytes
public import SottoProgram

/// The options of `keygen chat` and `bridge chat`: they create a chat file from a phrase, or read or print its public record.
public struct ChatFileOptions: ArgumentGroup {
    /// The name of the chat, at most 128 bytes.
    @Option("--name", value: "name", help: "The name of the chat.")
    public var name = ""

    @Option(
        "--phrase", value: "source",
        help: "The chat's phrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: stdin, or ask.")
    var phrase: SecretSource?

    @OptionGroup var destination: SecretFileOptions

    @Option(
        "--public", value: "file",
        help: "Print the public record of the chat in this file: its id and its encrypted name.")
    var publicRecord: String?

    @Option(
        "--read-name", value: "file",
        help: "Print the chat's name from its public record on stdin; the chat is in this file.")
    var readName: String?

    /// Whether no notes are printed.
    @Flag("-q", "--quiet", help: "Print only warnings on stderr.")
    public var quiet = false

    /// Creates the options with none given.
    public init() {}

    /// Checks the name and the source.
    public func validate() throws {
        try phrase?.validate()
        try checkName(name)
    }

    /// The mode that the options select.
    public var mode: ChatMode { publicRecord != nil ? .printed : readName != nil ? .read : .new }

    /// Does what the options select. `tool` is the name in messages.
    ///
    /// - Parameters:
    ///   - make: Returns the secret record of the chat with a phrase.
    ///   - record: Writes the public record of the chat in a file.
    ///   - name: Returns the name in a public record of the chat in a file; `record` reads it from standard input.
    public func run(
        tool: String, make: (_ phrase: borrowing SecretBytes) throws -> JSONObject,
        record: (_ path: String, _ output: Output) throws -> Void,
        name: (_ path: String, _ record: () throws -> JSONObject) throws -> String
    ) throws {
        let output: Output
        if let publicRecord {
            output = try Output(path: "-", content: .text)
            try record(publicRecord, output)
        } else if let readName {
            let text = try name(readName) {
                try JSON.object(parsing: Input(path: nil).readText(limit: 1 << 20))
            }
            output = try Output(path: "-", content: .text)
            try output.writeText(text + "\n")
        } else {
            // The file is opened before any other work.
            output = try destination.open(tool: tool, quiet: quiet)
            try output.write(make(readPhrase(tool: tool)).serialized() + [UInt8(ascii: "\n")])
        }
        try output.finish()
    }

    /// Reads the phrase from its source, from the first line of a pipe, or twice from a prompt.
    private func readPhrase(tool: String) throws -> SecretBytes {
        if phrase == nil, !Terminal.isTerminal(0) { return try SecretSource.descriptor(0).read() }
        return try NewSecret("phrase", tool: tool).read(phrase, warns: false)
    }
}

/// The ways to use `keygen chat` and `bridge chat`, with the options of each.
public enum ChatMode: String, CommandMode {
    /// Creates a chat file.
    case new = ""
    /// Prints the public record of a chat.
    case printed = "--public"
    /// Reads the name of a chat.
    case read = "--read-name"

    /// The arguments that have an effect. Only `bridge` has `--show-secret`.
    public var takes: String {
        switch self {
        case .new: "--name --phrase -o -q"
        case .printed: "--public --show-secret -q"
        case .read: "--read-name -q"
        }
    }
}
