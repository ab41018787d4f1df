extension Command {
    /// The command that `words` call, this one or a subcommand, with its arguments. `words` are those after the program's name.
    ///
    /// The words are as in POSIX.1-2017 §12.2 and GNU's getopt_long: flags of one letter may stand together, an option's value is the
    /// next word or joined to its name, options and arguments may be mixed, and `--` ends the options.
    ///
    /// Throws ``UsageError``, and ``TextRequest`` where help or the version is asked for.
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
            throw UsageError("the command goes first, before \(quoted(word))")
        }
        let extra = try reading.finish()
        guard extra.isEmpty else { throw call.refusal(of: extra, after: words) }
        try declarations.validateGroups()
        try command.validate()
        return command
    }

    /// The command that `words` call, with the program, as its help is asked for: `keygen new`.
    public static func nameOfCommand(in words: [String]) -> String {
        var words = words[...]
        return (try? Call(of: self, &words).name) ?? configuration.name
    }
}

/// Which command a command line calls.
private struct Call {
    /// The program, and the subcommand that was named.
    private(set) var named: [any Command.Type]
    /// The one that is meant where none was named.
    private var implied: (any Command.Type)?

    /// Whether it is the program's own, or a subcommand.
    var isComplete: Bool {
        named.count > 1 || implied != nil || names.isEmpty
            || named[0].configuration.takesOtherWords
    }

    var command: any Command.Type { implied ?? named[named.count - 1] }

    /// What it is called, with the program: `keygen new`.
    var name: String {
        (named + [implied].compactMap { $0 }).map { $0.configuration.name }.joined(separator: " ")
    }

    /// Takes a subcommand's name from `words`; where they ask for its help, throws that.
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

    /// What is said of arguments that are too many, the first of which may be a command: misspelt, or in the wrong place.
    func refusal(of extra: ArraySlice<String>, after words: ArraySlice<String>) -> UsageError {
        let word = extra[extra.startIndex]
        if named.count == 1, !names.isEmpty {
            if names.contains(word) { return UsageError("the command '\(word)' goes first") }
            // No argument was taken before it.
            if extra.startIndex == 0, word == words.first { return unknown(word) }
        }
        return UsageError(
            extra.count == 1
                ? "unexpected argument \(quoted(word))"
                : "\(extra.count) arguments too many, from \(quoted(word)) on")
    }
}
