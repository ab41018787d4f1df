public import Arguments

/// The form of what a command prints: text for people, or records.
///
/// It is text on a terminal, and one JSON object per line in a pipe or a file.
public struct OutputForm: ArgumentGroup {
    /// Whether text is printed in a pipe too.
    @Flag("--text", help: "Print text for people, in a pipe or a file too.")
    public var text = false

    /// Whether records are printed on a terminal too.
    @Flag("--json", help: "Print records, one JSON object per line, on a terminal too.")
    public var json = false

    /// Creates the options with none given.
    public init() {}

    /// Throws ``UsageError`` if both forms are requested.
    public func validate() throws { try Self.check(text: text, json: json) }

    /// Whether the form is text.
    public var isText: Bool { Self.isText(text: text, json: json) }

    /// Returns whether the form is text, for a command that declares the options itself.
    public static func isText(text: Bool, json: Bool) -> Bool {
        text || !json && Terminal.isTerminal(1)
    }

    /// Throws ``UsageError`` if both forms are requested.
    public static func check(text: Bool, json: Bool) throws {
        guard !text || !json else {
            throw UsageError("--json cannot be combined with --text")
        }
    }
}
