extension Command {
    /// Parses `words`, the words after the program's name, and returns the command that they select, this one or a
    /// subcommand.
    ///
    /// The syntax is that of POSIX.1-2017 §12.2 and GNU's getopt_long: flags of one letter can be combined, an option's
    /// value is the next word or joined to its name, options and arguments can be mixed, and `--` ends the options.
    ///
    /// Throws ``UsageError``, and ``TextRequest`` if the help or the version is requested.
    public static func parse(_ words: [String]) throws -> any Command {
        let version = configuration.version
        var words = words[...]
        let call = try Call(of: self, &words)
        let (command, declarations) = Declarations.of(call.command)
        var reading = Reading(declarations.all, hasVersion: !version.isEmpty)
        switch reading.read(words) {
        case .help: throw TextRequest(help(of: call.named))
        case .version: throw TextRequest(version)
        case nil: break
        }
        if !call.isComplete, let word = words.first, word.utf8.first == UInt8(ascii: "-") {
            let meant = suggestion(for: word, among: ["--help", "--version"])
            throw UsageError(
                meant.isEmpty
                    ? "the command must come first, before \(quoted(word))"
                    : "unknown option \(quoted(word))" + meant)
        }
        let extra = try reading.finish()
        guard extra.isEmpty else { throw call.refusal(of: extra, after: words) }
        try command.checkMode()
        try declarations.validateGroups()
        try command.validate()
        return command
    }

    /// Returns the full name of the command that `words` select, as in its help: `keygen new`.
    public static func nameOfCommand(in words: [String]) -> String {
        var words = words[...]
        return (try? Call(of: self, &words).name) ?? configuration.name
    }
}

/// The command that a command line selects.
private struct Call {
    /// The program and the named subcommand.
    private(set) var named: [any Command.Type]
    /// The default subcommand, if none was named.
    private var implied: (any Command.Type)?

    /// Whether a subcommand is selected, or the program does not use subcommands.
    var isComplete: Bool {
        named.count > 1 || implied != nil || names.isEmpty
            || named[0].configuration.takesOtherWords
    }

    var command: any Command.Type { implied ?? named[named.count - 1] }

    /// The full name with the program: `keygen new`.
    var name: String {
        (named + [implied].compactMap { $0 }).map { $0.configuration.name }.joined(separator: " ")
    }

    /// Takes a subcommand's name from `words`. Throws the help if `words` request it.
    init(of program: any Command.Type, _ words: inout ArraySlice<String>) throws {
        named = [program]
        let subcommands = program.configuration.subcommands
        guard !subcommands.isEmpty else { return }
        let asksHelp = words.first == "help" && !program.configuration.takesOtherWords
        if asksHelp { words.removeFirst() }
        if asksHelp, words.first == "--help" || words.first == "-h" { words.removeFirst() }
        if let word = words.first {
            if let subcommand = subcommands.first(where: { $0.configuration.name == word }) {
                words.removeFirst()
                named.append(subcommand)
            } else if asksHelp {
                throw unknown(word)
            }
        }
        if asksHelp { throw TextRequest(program.help(of: named)) }
        if named.count == 1 { implied = program.configuration.defaultSubcommand }
    }

    private var names: [String] { named[0].configuration.subcommands.map { $0.configuration.name } }

    private func unknown(_ word: String) -> UsageError {
        UsageError("unknown command \(quoted(word))" + suggestion(for: word, among: names))
    }

    /// Returns the error for surplus arguments. The first of them may be a command that is misspelled or in the wrong
    /// place.
    func refusal(of extra: ArraySlice<String>, after words: ArraySlice<String>) -> UsageError {
        let word = extra[extra.startIndex]
        if named.count == 1, !names.isEmpty {
            if names.contains(word) { return UsageError("the command '\(word)' must come first") }
            // No argument was taken before it.
            if extra.startIndex == 0, word == words.first { return unknown(word) }
        }
        return UsageError(
            extra.count == 1
                ? "unexpected argument \(quoted(word))"
                : "\(extra.count) unexpected arguments, the first is \(quoted(word))")
    }
}
