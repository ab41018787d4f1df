/// A type whose properties are arguments: each has ``Flag``, ``Option``, ``Argument`` or ``OptionGroup``.
public protocol ArgumentGroup {
    /// Creates the group with no argument given.
    init()

    /// Throws a ``UsageError`` for arguments that cannot be combined.
    func validate() throws
}

extension ArgumentGroup {
    /// Accepts all combinations.
    public func validate() {}
}

/// A program or one of its subcommands.
public protocol Command: ArgumentGroup, SendableMetatype {
    /// The name and the help of the command.
    static var configuration: CommandConfiguration { get }

    /// The words with which the program is run, in its help. By default they are its name.
    static var invocation: String { get }

    /// Throws a ``UsageError`` for arguments without effect in the mode that they select; see ``GivenArguments``. It is
    /// called before ``ArgumentGroup/validate()`` of the groups and of the command.
    func checkMode() throws

    /// Runs the command.
    mutating func execute() throws
}

extension Command {
    /// The name of the program.
    public static var invocation: String { configuration.name }

    /// Accepts all arguments: the command has one mode.
    public func checkMode() {}
}

/// The name and the help of a command.
public struct CommandConfiguration: Sendable {
    /// The word that selects the command.
    public let name: String
    /// The purpose of the command in one sentence.
    public let abstract: String
    /// The forms of the command, one per line; `nil` generates one from the arguments.
    public let usage: String?
    /// Further help text, one line per paragraph; lines longer than the terminal's width are wrapped.
    public let discussion: String
    /// For a program: the text that `--version` prints, for subcommands too.
    public let version: String
    /// The subcommands, in the order of the help.
    public let subcommands: [any Command.Type]
    /// The subcommand that is used if the first word names none.
    public let defaultSubcommand: (any Command.Type)?
    /// Whether the program takes words that name no subcommand as its own arguments, including `help` and options.
    public let takesOtherWords: Bool

    /// Creates a configuration.
    public init(
        name: String, abstract: String, usage: String? = nil, discussion: String = "",
        version: String = "", subcommands: [any Command.Type] = [],
        defaultSubcommand: (any Command.Type)? = nil, takesOtherWords: Bool = false
    ) {
        self.name = name
        self.abstract = abstract
        self.usage = usage
        self.discussion = discussion
        self.version = version
        self.subcommands = subcommands
        self.defaultSubcommand = defaultSubcommand
        self.takesOtherWords = takesOtherWords
    }
}

/// An error in a command line: a sentence without a capital letter and a full stop.
public struct UsageError: Error, Equatable {
    /// The sentence.
    public let message: String

    /// Creates an error with a sentence.
    public init(_ message: String) { self.message = message }
}

/// A request for a text instead of the command's work: the help or the version.
public struct TextRequest: Error, Equatable {
    /// The text without a final line feed.
    public let text: String

    /// Creates a request for `text`.
    public init(_ text: String) { self.text = text }
}
