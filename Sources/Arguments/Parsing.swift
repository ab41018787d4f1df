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
        let extra = try reading.finish()
        guard extra.isEmpty else { throw call.refusal(of: extra, after: words) }
        try declarations.validateGroups()
        try command.validate()
        return command
    }
}

/// Which command a command line calls.
private struct Call {
    /// The program, and the subcommand that was named.
    private(set) var named: [any Command.Type]
    /// The one that is meant where none was named.
    private var implied: (any Command.Type)?

    var command: any Command.Type { implied ?? named[named.count - 1] }

    /// Takes a subcommand's name from `words`; where they ask for its help, throws that.
    init(of program: any Command.Type, _ words: inout ArraySlice<String>) throws {
        named = [program]
        let subcommands = program.configuration.subcommands
        guard !subcommands.isEmpty else { return }
        let asksHelp = words.first == "help"
        if asksHelp { words.removeFirst() }
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
        UsageError("unknown command '\(word)'" + suggestion(for: word, among: names))
    }

    /// What is said of arguments that are too many: the first may be a command, misspelt or in the wrong place.
    func refusal(of extra: ArraySlice<String>, after words: ArraySlice<String>) -> UsageError {
        if named.count == 1, !names.isEmpty, let word = extra.first {
            if names.contains(word) { return UsageError("the command '\(word)' goes first") }
            if word == words.first { return unknown(word) }
        }
        let list = extra.map { "'\($0)'" }.joined(separator: ", ")
        return UsageError(
            extra.count == 1
                ? "unexpected argument \(list)" : "\(extra.count) unexpected arguments: \(list)")
    }
}

/// What is offered for a word that is none of `names`: the nearest, if it is near.
func suggestion(for word: String, among names: [String]) -> String {
    let near = names.map { ($0, distance($0, word)) }.min { $0.1 < $1.1 }
    guard let (name, distance) = near, distance <= max(1, word.count / 3) else { return "" }
    return "; did you mean '\(name)'?"
}

/// How many characters have to be changed, put in or left out to make `second` of `first` (Levenshtein).
private func distance(_ first: String, _ second: String) -> Int {
    let second = Array(second)
    var row = Array(0...second.count)
    for (index, character) in first.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in 1..<row.count {
            let changed = diagonal + (second[column - 1] == character ? 0 : 1)
            diagonal = row[column]
            row[column] = min(changed, diagonal + 1, row[column - 1] + 1)
        }
    }
    return row[second.count]
}

/// One reading of a command line.
///
/// A mistake is kept until all words were read, for `--help` may stand after it.
private struct Reading {
    enum Request { case help, version }

    private let declarations: [Declaration]
    private let hasVersion: Bool
    private var positional: [String] = []
    private var mistake: UsageError?
    private var request: Request?

    init(_ declarations: [Declaration], hasVersion: Bool) {
        self.declarations = declarations
        self.hasVersion = hasVersion
    }

    /// Takes all words; returns what they ask for in place of the command's work.
    mutating func read(_ words: ArraySlice<String>) -> Request? {
        if let passed = declarations.first(where: {
            $0.values == .theRest && $0.kind == .positional
        }) {
            for word in words { give(word, to: passed, calledAs: nil) }
            return nil
        }
        var words = words
        while let word = words.popFirst() {
            if word == "--" {
                positional += words
                break
            } else if word.utf8.starts(with: "--".utf8) {
                readLong(word, &words)
            } else if word.utf8.first == UInt8(ascii: "-"), word.utf8.count > 1 {
                readShort(word, &words)
            } else {
                positional.append(word)
            }
        }
        return request
    }

    /// Gives the positional arguments, and throws the first mistake. Returns the words that are one too many.
    mutating func finish() throws -> ArraySlice<String> {
        if let mistake { throw mistake }
        var words = positional[...]
        for argument in declarations where argument.kind == .positional {
            while let word = words.first {
                words.removeFirst()
                give(word, to: argument, calledAs: nil)
                if !argument.isRepeating { break }
            }
        }
        if let mistake { throw mistake }
        for argument in declarations where argument.isRequired && !argument.isGiven {
            throw UsageError(
                "missing expected argument '\(label(of: argument.names.preferred, valueName: argument.valueName))'"
            )
        }
        return words
    }

    private mutating func readLong(_ word: String, _ words: inout ArraySlice<String>) {
        // By scalars: a value may begin with a mark that would join the sign to one character.
        let scalars = word.unicodeScalars
        let equals = scalars.firstIndex(of: "=")
        let name = String(scalars[..<(equals ?? scalars.endIndex)])
        let joined = equals.map { String(scalars[scalars.index(after: $0)...]) }
        guard let declaration = declared(name) else { return readCommon(name) }
        if declaration.kind == .option {
            readValue(of: declaration, calledAs: name, joined: joined, &words)
        } else if let joined {
            note("'\(name)' takes no value, but '\(joined)' was given")
        } else {
            give("", to: declaration, calledAs: name)
        }
    }

    /// Reads letters that stand together: flags, of which the last may be an option with its value.
    private mutating func readShort(_ word: String, _ words: inout ArraySlice<String>) {
        var letters = word.unicodeScalars.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard let declaration = declared(name) else { return readCommon(name) }
            guard declaration.kind == .option else {
                give("", to: declaration, calledAs: name)
                continue
            }
            let joined = letters.first == "=" ? letters.dropFirst() : letters
            return readValue(
                of: declaration, calledAs: name, joined: letters.isEmpty ? nil : String(joined),
                &words)
        }
    }

    private mutating func readValue(
        of declaration: Declaration, calledAs name: String, joined: String?,
        _ words: inout ArraySlice<String>
    ) {
        if let joined { return give(joined, to: declaration, calledAs: name) }
        guard let word = words.first,
            declaration.values == .any || word == "-" || word.utf8.first != UInt8(ascii: "-")
        else {
            return note("missing value for '\(label(of: name, valueName: declaration.valueName))'")
        }
        words.removeFirst()
        give(word, to: declaration, calledAs: name)
    }

    /// Reads what every command has.
    private mutating func readCommon(_ name: String) {
        switch name {
        case "-h", "--help": request = .help
        case "--version" where hasVersion: request = request ?? .version
        default:
            let names =
                declarations.flatMap(\.names) + ["--help"] + (hasVersion ? ["--version"] : [])
            let isLong = name.utf8.starts(with: "--".utf8)
            note(
                "unknown option '\(name)'"
                    + suggestion(
                        for: name,
                        among: isLong ? names.filter { $0.utf8.starts(with: "--".utf8) } : []))
        }
    }

    private mutating func give(_ word: String, to declaration: Declaration, calledAs name: String?)
    {
        declaration.isGiven = true
        guard !declaration.take(word) else { return }
        let choices = declaration.choices().joined(separator: ", ")
        note(
            "the value '\(word)' is invalid for '\(label(of: name, valueName: declaration.valueName))'"
                + (choices.isEmpty ? "" : "; choose among \(choices)"))
    }

    private func declared(_ name: String) -> Declaration? {
        declarations.first { $0.names.contains(name) }
    }

    private mutating func note(_ message: String) { mistake = mistake ?? UsageError(message) }
}
