import Arguments
import Sotto
import SottoTool

/// BIP 39's passphrase, where the words alone shall not give the keys.
struct WordsPassphraseOptions: ArgumentGroup {
    @Option(
        "--words-passphrase", value: "source",
        help:
            "The words give the keys only together with this passphrase of BIP 39: @ENV:NAME, @FD:N, @FILE:PATH, or ask."
    )
    var wordsPassphrase: Source?

    /// A source of secrets, or the terminal.
    enum Source: ExpressibleByArgument {
        case terminal
        case source(SecretSource)

        init?(argument: String) {
            if argument == "ask" {
                self = .terminal
            } else {
                guard let source = SecretSource(argument: argument) else { return nil }
                self = .source(source)
            }
        }
    }

    func validate() throws {
        if case .source(let source) = wordsPassphrase { try source.validate() }
    }

    /// The passphrase; empty where none is asked for. A new one is typed twice.
    func read(isNew: Bool) throws -> String {
        let secret: SecretBytes
        switch wordsPassphrase {
        case nil: return ""
        case .source(let source): secret = try source.read()
        case .terminal:
            secret =
                isNew
                ? try newSecret("passphrase of the words", nil)
                : try Terminal.ask("Passphrase of the words: ", secret: true)
        }
        return try secret.withBytes { bytes in
            // BIP 39 takes NFKD, which other text may have in more than one form.
            guard bytes.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw Failure(
                    .usage, "a passphrase of the words has ASCII characters only",
                    hint: "other letters are not typed alike everywhere, and then give other keys")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
