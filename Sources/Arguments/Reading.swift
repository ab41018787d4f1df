/// The parser of one command line.
///
/// The first error is reported only after all words were read, because `--help` may follow it.
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

    /// Takes all words. Returns a request for the help or the version, or `nil`.
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
                if takesNumbers, Self.isNegativeNumber(word) {
                    positional.append(word)
                } else if word.utf8.starts(with: "--".utf8) {
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

    /// Assigns the positional arguments, and throws the first error. Returns the surplus words; with some, required arguments can be
    /// missing.
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
        // A surplus word can be a misspelled command, for which other arguments are missing.
        guard words.isEmpty else { return words }
        for argument in declarations where argument.isRequired && !argument.isGiven {
            throw UsageError(
                "missing expected argument '\(label(of: argument.names.preferred, valueName: argument.valueName))'"
            )
        }
        return words
    }

    private mutating func readLong(_ word: String, _ words: inout ArraySlice<String>) {
        // Scalars are compared, because a value may begin with a combining mark that would join the equals sign.
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

    /// Reads combined letters: flags, and at the end possibly an option with its value.
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
            // The word in its place is not read: a --help there would hide the error.
            words = words.dropFirst()
            return note("missing value for '\(label(of: name, valueName: declaration.valueName))'")
        }
        words.removeFirst()
        give(word, to: declaration, calledAs: name)
    }

    private mutating func refuse(_ name: String) {
        let common = ["-h", "--help"] + (hasVersion ? ["--version"] : [])
        guard !common.contains(name) else { return note("'\(name)' must be given alone") }
        let isLong = name.utf8.starts(with: "--".utf8)
        let names = (declarations.flatMap(\.names) + common).filter {
            $0.utf8.starts(with: "--".utf8)
        }
        // A word such as a key in PEM is no option, and the text after its first word may be secret.
        let shown = String(name.prefix { !$0.isWhitespace })
        note(
            "unknown option \(quoted(shown))" + (isLong ? suggestion(for: name, among: names) : ""))
    }

    private mutating func give(_ word: String, to declaration: Declaration, calledAs name: String?)
    {
        if declaration.isGiven, declaration.kind == .option, !declaration.isRepeating, let name {
            return note("'\(name)' is given twice")
        }
        declaration.givenAs = label(of: name, valueName: name == nil ? declaration.valueName : nil)
        guard !declaration.take(word) else { return }
        let choices = declaration.choices().joined(separator: ", ")
        let form = declaration.form()
        note(
            "the value \(quoted(word)) is invalid for '\(label(of: name, valueName: declaration.valueName))'"
                + (choices.isEmpty ? "" : "; valid values are \(choices)")
                + (form.isEmpty ? "" : "; give \(form)"))
    }

    /// Whether a positional argument accepts negative numbers.
    private var takesNumbers: Bool {
        declarations.contains { $0.kind == .positional && $0.values == .any }
    }

    private static func isNegativeNumber(_ word: String) -> Bool {
        word.utf8.first == UInt8(ascii: "-") && word.utf8.count > 1
            && word.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    private func declared(_ name: String) -> Declaration? {
        declarations.first { $0.names.contains(name) }
    }

    private mutating func note(_ message: String) { mistake = mistake ?? UsageError(message) }
}
