/// Properties that are arguments: each has ``Flag``, ``Option``, ``Argument`` or ``OptionGroup``.
public protocol ArgumentGroup {
    /// With none given.
    init()

    /// Refuses, with a ``UsageError``, arguments that do not go together.
    func validate() throws
}

extension ArgumentGroup {
    /// All go together.
    public func validate() {}
}

/// A command: a program, or one of its subcommands.
public protocol Command: ArgumentGroup, SendableMetatype {
    /// What it is called, and what its help says.
    static var configuration: CommandConfiguration { get }

    /// Does what the arguments say.
    mutating func execute() throws
}

/// What a command is called, and what its help says.
public struct CommandConfiguration: Sendable {
    /// The word that calls it.
    public let name: String
    /// What it does, in a sentence.
    public let abstract: String
    /// Its forms, one a line; `nil` for a line that is made of its arguments.
    public let usage: String?
    /// What else there is to say, each paragraph in a line; longer lines than the terminal has columns are broken.
    public let discussion: String
    /// Of a program: what `--version` prints, of the subcommands too.
    public let version: String
    /// The subcommands, in the order of the help.
    public let subcommands: [any Command.Type]
    /// The subcommand that is meant where the first word is none's.
    public let defaultSubcommand: (any Command.Type)?
    /// Whether words that call no subcommand are arguments of the program, `help` and options among them.
    public let takesOtherWords: Bool

    /// A configuration.
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

/// What is wrong with a command line, in a sentence without a capital and a full stop.
public struct UsageError: Error, Equatable {
    /// The sentence.
    public let message: String

    /// An error with a sentence.
    public init(_ message: String) { self.message = message }
}

/// A command line asked for a text in place of the work: help, or the version.
public struct TextRequest: Error, Equatable {
    /// The text, without a line feed at its end.
    public let text: String

    /// A request for `text`.
    public init(_ text: String) { self.text = text }
}
