/// The options of the identity among the arguments of a tool.
struct IdentityWords {
    /// The arguments without the source of the passphrase.
    private(set) var others: [String] = []
    /// The identity file, or `nil` for the default.
    private(set) var path: String?
    /// The source of the passphrase, or `nil` for a prompt.
    private(set) var source: String?
    /// Whether the tool prints no notes.
    private(set) var isQuiet = false

    /// Reads the arguments up to `--`.
    init(_ arguments: [String]) {
        var words = arguments[...]
        while let word = words.popFirst() {
            switch word {
            case "--":
                others += [word] + words
                return
            case "--identity-passphrase": source = words.popFirst()
            case "--identity":
                path = words.first
                others += [word] + words.prefix(1)
                words = words.dropFirst()
            case _ where word.hasPrefix("--identity-passphrase="):
                source = String(word.dropFirst("--identity-passphrase=".count))
            case _ where word.hasPrefix("--identity="):
                path = String(word.dropFirst("--identity=".count))
                others.append(word)
            case _ where word.hasPrefix("-") && !word.hasPrefix("--"):
                others.append(word)
                readLetters(of: word, &words)
            default:
                if word == "--quiet" { isQuiet = true }
                others.append(word)
            }
        }
    }

    /// Reads combined letters. `-q` and `-i` are the only ones in commands that make messages, beside `-o`.
    private mutating func readLetters(of word: String, _ words: inout ArraySlice<String>) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst(), letter == "q" || letter == "i" {
            guard letter == "i" else {
                isQuiet = true
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            if letters.isEmpty {
                guard let value = words.popFirst() else { return }
                others.append(value)
                path = value
            } else {
                path = String(letters)
            }
            return
        }
    }

    /// The arguments with the source of a passphrase that is handed down.
    func arguments(_ identity: SharedIdentity) -> [String] {
        others.prefix(1) + identity.passphraseOptions + others.dropFirst()
    }
}
