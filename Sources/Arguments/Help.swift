import Glibc

/// The description of a command in its help.
public struct CommandDescription: Sendable {
    /// A flag, an option or a positional argument.
    public struct Argument: Sendable {
        /// The names as they are typed; empty for a positional argument.
        public let names: [String]
        /// The name of the value; `nil` for a flag.
        public let valueName: String?
        /// The purpose of the argument.
        public let help: String
        /// The words of its values, if they can be listed.
        public let choices: [String]
        /// The word of its default value.
        public let defaultValue: String?
        /// Whether it is required.
        public let isRequired: Bool
        /// Whether it may be given more than once.
        public let isRepeating: Bool

        /// The preferred name and the name of the value.
        fileprivate var form: String {
            let form = Arguments.label(of: names.preferred, valueName: valueName)
            return isRepeating ? form + " ..." : form
        }

        fileprivate var label: String {
            Arguments.label(
                of: names.isEmpty ? nil : names.joined(separator: ", "), valueName: valueName)
        }

        fileprivate var explanation: String {
            let values = choices.isEmpty ? nil : "values: " + choices.joined(separator: ", ")
            let initial = defaultValue.map { "default: \($0)" }
            let facts = [values, initial].compactMap { $0 }.joined(separator: "; ")
            return facts.isEmpty ? help : "\(help) (\(facts))"
        }
    }

    /// The word that selects the command.
    public let name: String
    /// The purpose of the command in one sentence.
    public let abstract: String
    /// The arguments, including the common ones.
    public let arguments: [Argument]
    /// Its subcommands.
    public let subcommands: [CommandDescription]
    /// The name of the default subcommand.
    public let defaultSubcommand: String?

    /// Creates the description of a command; `hasVersion` tells whether the program has a version.
    init(_ command: any Command.Type, hasVersion: Bool) {
        let configuration = command.configuration
        name = configuration.name
        abstract = configuration.abstract
        var arguments = Declarations.of(command).1.all.map(Argument.init)
        if hasVersion { arguments.append(Argument(["--version"], "Show the version.")) }
        arguments.append(Argument(["-h", "--help"], "Show help information."))
        self.arguments = arguments
        subcommands = configuration.subcommands.map {
            CommandDescription($0, hasVersion: hasVersion)
        }
        defaultSubcommand = configuration.defaultSubcommand?.configuration.name
    }
}

extension CommandDescription.Argument {
    fileprivate init(_ declaration: Declaration) {
        names = declaration.names
        valueName = declaration.kind == .flag ? nil : declaration.valueName
        help = declaration.help
        choices = declaration.choices()
        defaultValue = declaration.defaultValue()
        isRequired = declaration.isRequired
        isRepeating = declaration.isRepeating
    }

    /// A flag.
    fileprivate init(_ names: [String], _ help: String) {
        self.names = names
        self.help = help
        (valueName, choices, defaultValue, isRequired, isRepeating) = (nil, [], nil, false, false)
    }
}

extension Command {
    /// The description of the program and its subcommands.
    public static var commandDescription: CommandDescription {
        CommandDescription(self, hasVersion: !configuration.version.isEmpty)
    }

    /// The text of `--help` without a final line feed.
    public static var help: String { help(of: [self]) }

    /// Returns the help of the last command of `path`, which begins with the program.
    static func help(of path: [any Command.Type]) -> String {
        guard let command = path.last else { return "" }
        let description = CommandDescription(
            command, hasVersion: !configuration.version.isEmpty)
        return HelpText(
            description, command.configuration,
            path: ([invocation] + path.dropFirst().map { $0.configuration.name })
                .joined(separator: " ")
        ).text
    }
}

/// The layout of a help.
private struct HelpText {
    /// The column at which the explanations begin.
    private static let column = 26

    private let description: CommandDescription
    private let configuration: CommandConfiguration
    private let path: String
    private let width: Int

    init(_ description: CommandDescription, _ configuration: CommandConfiguration, path: String) {
        self.description = description
        self.configuration = configuration
        self.path = path
        width = Self.terminalWidth()
    }

    var text: String {
        var parts = ["OVERVIEW: " + configuration.abstract, configuration.discussion]
            .filter { !$0.isEmpty }.map { wrapped($0) }
        parts.append("USAGE: " + usage)
        let positional = description.arguments.filter(\.names.isEmpty)
        let options = description.arguments.filter { !$0.names.isEmpty }
        parts += [
            section("ARGUMENTS", positional.map { ($0.label, $0.explanation) }),
            section("OPTIONS", options.map { ($0.label, $0.explanation) }),
            section(
                "SUBCOMMANDS",
                description.subcommands.map {
                    (
                        $0.name + ($0.name == description.defaultSubcommand ? " (default)" : ""),
                        $0.abstract
                    )
                }),
        ]
        if !description.subcommands.isEmpty {
            parts.append("  See '\(path) help <subcommand>' for detailed help.")
        }
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private var usage: String {
        let indent = String(repeating: " ", count: "USAGE: ".count)
        if let usage = configuration.usage {
            return usage.split(separator: "\n", omittingEmptySubsequences: false)
                .joined(separator: "\n" + indent)
        }
        let forms = description.arguments.filter {
            !["--version", "--help"].contains($0.names.last)
        }
        .map { $0.isRequired ? $0.form : "[\($0.form)]" }
        // Usage forms are not wrapped.
        var lines = [path]
        for form in forms {
            if indent.count + lines[lines.count - 1].count + 1 + form.count > width {
                lines.append("  " + form)
            } else {
                lines[lines.count - 1] += " " + form
            }
        }
        return lines.joined(separator: "\n" + indent)
    }

    private func section(_ title: String, _ entries: [(label: String, text: String)]) -> String {
        guard !entries.isEmpty else { return "" }
        let indent = String(repeating: " ", count: Self.column)
        let lines = entries.map { label, text in
            let label = "  " + label
            let text = wrapped(text, indent: Self.column)
            guard label.count < Self.column else { return "\(label)\n\(indent)\(text)" }
            return label + indent.dropFirst(label.count) + text
        }
        return "\(title):\n" + lines.joined(separator: "\n")
    }

    /// Wraps long lines between words, except the lines below `EXAMPLES`, which are pasted. Continuation lines have the
    /// indentation of the wrapped line plus `indent` spaces.
    private func wrapped(_ text: String, indent: Int = 0) -> String {
        let limit = max(20, width - indent - 1)
        var lines: [String] = []
        var isExample = false
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            isExample = paragraph == "EXAMPLES" || isExample && !paragraph.isEmpty
            let margin = String(paragraph.prefix { $0 == " " })
            var rest = paragraph.dropFirst(margin.count)
            while !isExample, margin.count + rest.count > limit,
                let space = rest.prefix(max(1, limit - margin.count + 1)).lastIndex(of: " ")
            {
                lines.append(margin + rest[..<space])
                rest = rest[rest.index(after: space)...]
            }
            lines.append(margin + rest)
        }
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }

    /// The width of the terminal in columns: `COLUMNS`, else the width of standard output, else 80.
    private static func terminalWidth() -> Int {
        if let text = getenv("COLUMNS"), let columns = Int(String(cString: text)), columns > 0 {
            return columns
        }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
