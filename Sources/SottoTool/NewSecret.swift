public import Sotto

/// A secret that a person chooses: typed twice, or from a source.
public struct NewSecret {
    /// The name of the secret in messages: "passphrase".
    public let noun: String
    /// The questions, each with the space at its end.
    public let questions: (first: String, again: String)
    /// The name of the tool, as its messages begin.
    public let tool: String

    /// A passphrase of fewer characters is warned of.
    public static let shortLength = 10

    /// A secret called `noun`, for which `tool` asks.
    public init(_ noun: String, tool: String, question: String? = nil) {
        self.noun = noun
        self.tool = tool
        questions = (question ?? "New \(noun): ", "The same again: ")
    }

    /// Reads the secret from `source`, else from the terminal, and warns of a short one where `warns`.
    ///
    /// Throws a failure with status 64 for two different answers and for an empty secret.
    public func read(_ source: SecretSource?, warns: Bool = true) throws -> SecretBytes {
        let secret = try source?.read() ?? typed()
        let count = secret.withBytes { String(decoding: $0, as: UTF8.self).count }
        if warns, count < Self.shortLength {
            Terminal.say(
                "\(tool): warning: a \(noun) of \(count) character\(count == 1 ? "" : "s") can be guessed; five random words cannot"
            )
        }
        return secret
    }

    private func typed() throws -> SecretBytes {
        guard let secret = try Terminal.askTwice(questions.first, questions.again) else {
            throw Failure(.usage, "the two \(noun)s differ; nothing is written")
        }
        guard secret.count > 0 else {
            throw Failure(.usage, "the \(noun) is empty; nothing is written")
        }
        return secret
    }
}
