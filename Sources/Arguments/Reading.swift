/// One reading of a command line.
///
/// A mistake is kept until all words were read, for `--help` may stand after it.
struct Reading {
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
            switch word {
            case "--":
                positional += words
                return request
            case "-h", "--help": request = .help
            case "--version" where hasVersion: request = request ?? .version
            default:
                if word.utf8.starts(with: "--".utf8) {
                    readLong(word, &words)
                } else if word.utf8.first == UInt8(ascii: "-"), word.utf8.count > 1 {
                    readShort(word, &words)
                } else {
                    positional.append(word)
                }
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
        guard let declaration = declared(name) else { return refuse(name) }
        if declaration.kind == .option {
            readValue(of: declaration, calledAs: name, joined: joined, &words)
        } else if joined != nil {
            note("'\(name)' takes no value")
        } else {
            give("", to: declaration, calledAs: name)
        }
    }

    /// Reads letters that stand together: flags, of which the last may be an option with its value.
    private mutating func readShort(_ word: String, _ words: inout ArraySlice<String>) {
        var letters = word.unicodeScalars.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard let declaration = declared(name) else { return refuse(name) }
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
            // What stands in its place is not read: a --help there would hide the mistake.
            words = words.dropFirst()
            return note("missing value for '\(label(of: name, valueName: declaration.valueName))'")
        }
        words.removeFirst()
        give(word, to: declaration, calledAs: name)
    }

    private mutating func refuse(_ name: String) {
        let common = ["-h", "--help"] + (hasVersion ? ["--version"] : [])
        guard !common.contains(name) else { return note("'\(name)' stands alone") }
        let isLong = name.utf8.starts(with: "--".utf8)
        let names = (declarations.flatMap(\.names) + common).filter {
            $0.utf8.starts(with: "--".utf8)
        }
        note("unknown option \(quoted(name))" + (isLong ? suggestion(for: name, among: names) : ""))
    }

    private mutating func give(_ word: String, to declaration: Declaration, calledAs name: String?)
    {
        if declaration.isGiven, declaration.kind == .option, !declaration.isRepeating, let name {
            return note("'\(name)' is given twice")
        }
        declaration.isGiven = true
        guard !declaration.take(word) else { return }
        let choices = declaration.choices().joined(separator: ", ")
        note(
            "the value \(quoted(word)) is invalid for '\(label(of: name, valueName: declaration.valueName))'"
                + (choices.isEmpty ? "" : "; choose among \(choices)"))
    }

    private func declared(_ name: String) -> Declaration? {
        declarations.first { $0.names.contains(name) }
    }

    private mutating func note(_ message: String) { mistake = mistake ?? UsageError(message) }
}
