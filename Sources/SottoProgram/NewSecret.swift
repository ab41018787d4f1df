public import SottoBytes

/// A secret that the user chooses: typed twice, or read from a source.
public struct NewSecret {
    /// The name of the secret in messages: "passphrase".
    public let noun: String
    /// The prompts, each ending with a space.
    public let questions: (first: String, again: String)
    /// The name of the tool in its messages.
    public let tool: String
    /// The option for doing without the secret, or `nil`.
    public let alternative: String?

    /// The length below which a warning is printed, in characters.
    public static let shortLength = 10

    /// The number of times that two answers are asked for.
    private static let attempts = 3

    /// Creates a secret called `noun`, for which `tool` asks. `alternative` is the option for doing without it.
    public init(
        _ noun: String, tool: String, question: String? = nil, alternative: String? = nil
    ) {
        self.noun = noun
        self.tool = tool
        self.alternative = alternative
        questions = (question ?? "New \(noun): ", "Repeat the \(noun): ")
    }

    /// Reads the secret from `source` or from the terminal. With `warns`, prints a warning if it is short.
    ///
    /// On a terminal two answers that differ are asked for again. Throws a failure with status 64 if they differ three times, or if the secret
    /// is empty.
    public func read(_ source: SecretSource?, warns: Bool = true) throws -> SecretBytes {
        let secret = try source?.read() ?? typed()
        let count = secret.withBytes { String(decoding: $0, as: UTF8.self).count }
        if warns, count < Self.shortLength {
            Terminal.say(
                "\(tool): warning: a \(noun) of \(count) character\(count == 1 ? "" : "s") can be guessed; use five random words"
            )
        }
        return secret
    }

    private func typed() throws -> SecretBytes {
        var answer = try Terminal.askTwice(questions.first, questions.again)
        for _ in 1..<Self.attempts {
            if answer != nil { break }
            Terminal.say("\(tool): the two \(noun)s differ; type both again")
            answer = try Terminal.askTwice(questions.first, questions.again)
        }
        guard let secret = answer.take() else {
            throw Failure(.usage, "the two \(noun)s differ; nothing was written")
        }
        guard secret.count > 0 else {
            throw Failure(
                .usage, "the \(noun) is empty; nothing was written",
                hint: "type five random words" + (alternative.map { ", or give \($0)" } ?? ""))
        }
        return secret
    }
}
