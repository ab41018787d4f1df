import Arguments
import SottoBytes
import SottoProgram

/// The words of `device request` and `device add`: the code and the relay are also for `recv`.
struct PairingWords {
    /// `request` or `add`.
    let command: String
    /// The code or the URI, as it was given; `nil` for a new code.
    private(set) var code: String?
    /// The relay of the meeting, or `nil`.
    private(set) var relay: String?
    /// The options for the tool.
    private(set) var options: [String] = []
    /// The options of the identity among them.
    private(set) var identity: [String] = []

    /// Reads the words, and the code from its source. Throws for a source that cannot be read.
    init(_ arguments: [String]) throws {
        command = arguments.first ?? ""
        var words = arguments.dropFirst()
        while let word = words.popFirst() {
            switch word {
            case "--relay":
                relay = words.first
                options += [word] + words.prefix(1)
                words = words.dropFirst()
            case _ where word.hasPrefix("--relay="):
                relay = String(word.dropFirst("--relay=".count))
                options.append(word)
            case "-i", "--identity", "--identity-passphrase":
                let pair = [word] + words.prefix(1)
                words = words.dropFirst()
                options += pair
                identity += pair
            case _
            where ["--identity=", "--identity-passphrase=", "-i"].contains {
                word.hasPrefix($0)
            }:
                options.append(word)
                identity.append(word)
            case "--code": code = try Self.code(from: words.popFirst() ?? "")
            case _ where word.hasPrefix("--code="):
                code = try Self.code(from: String(word.dropFirst("--code=".count)))
            case "--name", "-o", "--output", "--passphrase", "--lock-timeout":
                options += [word] + words.prefix(1)
                words = words.dropFirst()
            case _ where command == "add" && code == nil && !word.hasPrefix("-"): code = word
            default: options.append(word)
            }
        }
    }

    private static func code(from source: String) throws -> String {
        guard let source = SecretSource(argument: source) else {
            throw UsageError("--code needs a source: @ENV:NAME, @FD:N or @FILE:PATH")
        }
        try source.validate()
        return try source.read().withBytes { String(decoding: $0, as: UTF8.self) }
    }
}
