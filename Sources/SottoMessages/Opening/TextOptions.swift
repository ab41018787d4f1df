import Arguments
import SottoTool

/// The options for the form of texts.
package struct TextOptions: ArgumentGroup {
    @Flag("--text", help: "Print only the text of messages, each with a line feed.")
    package var text = false

    @Flag("--json", help: "Print records, one JSON object per line, on a terminal too.")
    package var json = false

    @Flag(
        "--time",
        help:
            "With --text: print time, name and text, separated by tabs; further lines begin with two tabs."
    )
    package var time = false

    @Flag(
        "-0", "--null", help: "With --text: end each text with a zero byte instead of a line feed.")
    package var null = false

    package init() {}

    /// Returns the plain value of these options. Without one that chooses, texts are printed on a terminal, and records in a
    /// pipe, in the file `output`, and if `details` are requested that only records have. With `events`, only the events of groups
    /// are printed.
    package func form(
        output: String?, details: Bool = false, events: Bool = false
    ) -> MessageForm {
        let isShown = output == nil && !details && !json && Terminal.isTerminal(1)
        return MessageForm(
            isText: text || isShown, hasTime: time, endsWithZero: null, isOfEvents: events)
    }

    package func validate() throws {
        try OutputForm.check(text: text, json: json)
        guard text || !(time || null) else { throw UsageError("--time and --null require --text") }
    }
}

/// The form of printed messages: records, or only their texts.
package struct MessageForm: Sendable {
    package let isText: Bool
    /// Whether the time and the name precede a text.
    let hasTime: Bool
    /// Whether a zero byte ends a text, and no line feed.
    let endsWithZero: Bool
    /// Whether only the events of groups are printed.
    package let isOfEvents: Bool

    /// Whether the end of a text can be distinguished from a line feed in it.
    var isMarked: Bool { hasTime || endsWithZero }
}
