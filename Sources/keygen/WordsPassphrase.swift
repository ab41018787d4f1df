import Arguments
import Sotto
import SottoTool

/// The BIP 39 passphrase of the words.
struct WordsPassphraseOptions: ArgumentGroup {
    @Option(
        "--words-passphrase", value: "source",
        help:
            "BIP 39 passphrase, which is needed together with the words: @ENV:NAME, @FD:N, @FILE:PATH, or ask."
    )
    var wordsPassphrase: Source?

    /// A source of the passphrase, or a prompt on the terminal.
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

    /// Returns the passphrase, or an empty text if none is used. A new one is typed twice.
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
            // BIP 39 uses NFKD, in which non-ASCII text can have more than one form.
            guard bytes.allSatisfy({ 0x20...0x7E ~= $0 }) else {
                throw Failure(
                    .usage, "the passphrase of the words must have only ASCII characters",
                    hint:
                        "use ASCII: other letters can be encoded differently and would give different keys"
                )
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
