public import Arguments
public import Sotto
public import SottoProgram

/// The options that create a chat file from a phrase.
public struct NewChatOptions: ArgumentGroup {
    /// The name of the chat, at most 128 bytes.
    @Option("--name", value: "name", help: "The name of the chat.")
    public var name = ""

    /// The source of the phrase.
    @Option(
        "--phrase", value: "source",
        help: "The chat's phrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: stdin, or ask.")
    public var phrase: SecretSource?

    /// The file to create.
    @OptionGroup public var destination: SecretFileOptions

    /// Creates the options with none given.
    public init() {}

    /// Checks the name and the source.
    public func validate() throws {
        try phrase?.validate()
        try checkName(name)
    }

    /// Opens the file before any other work. `tool` is the name in messages.
    public func open(tool: String, quiet: Bool) throws -> Output {
        try destination.open(tool: tool, quiet: quiet)
    }

    /// Reads the phrase from its source, from the first line of a pipe, or twice from a prompt.
    public func readPhrase(tool: String) throws -> SecretBytes {
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
