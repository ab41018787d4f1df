public import Arguments
public import SottoBytes

/// The output of a command whose records are for another tool.
///
/// On a terminal the records would be lost, and what they tell others would only look done. So the command changes nothing
/// then, and names the command that sends them.
public struct RecordOutput: ArgumentGroup {
    /// Whether the records are printed on a terminal too.
    @Flag("--json", help: "Print records, one JSON object per line, on a terminal too.")
    public var isForced = false

    /// Creates the options with none given.
    public init() {}

    /// Throws a failure with status 64 if the records would be lost on a terminal. They are for `send`, or for a person who
    /// gets them in `file`.
    public func check(file: String? = nil) throws(Failure) {
        try Self.check(isForced: isForced, file: file)
    }

    /// Does the same for a command that declares the option itself.
    public static func check(isForced: Bool, file: String? = nil) throws(Failure) {
        guard !isForced, Terminal.isTerminal(1) else { return }
        throw Failure(
            .usage,
            "nothing was changed or sent, because the records would be lost on the terminal",
            hint: file.map { "to keep them: \(fileCommand($0))" }
                ?? "to send them: \(sendCommand())")
    }

    /// Throws a failure with status 64 if the envelopes of records that another program printed would be lost on a terminal.
    public func checkPipe() throws(Failure) {
        guard !isForced, Terminal.isTerminal(1) else { return }
        throw Failure(
            .usage, "nothing was sent, because the envelopes would be lost on the terminal",
            hint:
                "end the pipe with | sotto encrypt | sotto send; if a group was changed: sotto group sync --send"
        )
    }

    /// Throws a failure with status 64 if envelopes would be lost on a terminal. They are for `decrypt`, which gets `options`.
    public func check(decryptedWith options: String) throws(Failure) {
        guard !isForced, Terminal.isTerminal(1) else { return }
        throw Failure(
            .usage,
            "nothing was received or printed, because the envelopes would be lost on the terminal",
            hint: "to read them: \(decryptCommand(options))")
    }
}

/// Returns the command line of this program as one of `sotto`, in a pipe to `decrypt`.
private func decryptCommand(_ options: String) -> String {
    (sottoWords() + ["| sotto decrypt"]).joined(separator: " ") + options
}

/// Returns the command line of this program as one of `sotto`, with `--send`.
private func sendCommand() -> String {
    var words = sottoWords()
    words.insert("--send", at: words.firstIndex(of: "--") ?? words.endIndex)
    return words.joined(separator: " ")
}

/// Returns the command line of this program as one of `sotto`, with the output in a file.
private func fileCommand(_ name: String) -> String {
    (sottoWords() + [">", shellWord(name)]).joined(separator: " ")
}

private func sottoWords() -> [String] {
    ["sotto", String(Terminal.programName)]
        + CommandLine.arguments.dropFirst().map { shellWord($0) }
}
