import Sotto
import SottoContacts
import SottoTool

/// Prints what became of envelopes: records, or with `--text` only what messages say.
final class MessagePrinter {
    private let output: Output
    private let printsText: Bool
    private let form: TextForm
    private let quiet: Bool
    /// The command that calls `decrypt` with the same identity.
    private let command: String
    private var lastSender: String?
    private var strangers: Set<SessionID> = []

    init(output: Output, tool: DecryptTool) {
        self.output = output
        printsText = tool.text
        form = tool.form
        quiet = tool.quiet
        command = (["decrypt"] + tool.identity.identities.flatMap { ["-i", shellWord($0)] })
            .joined(separator: " ")
    }

    /// Prints a message. `number` is its number in the state; `nil` if it is not kept.
    func print(_ message: Message, number: Int64?, seen: Bool) throws {
        guard printsText else {
            var record = message.record
            record["number"] = number.map { .integer($0) }
            if seen { record["seen"] = .bool(true) }
            try output.writeRecord(record)
            return
        }
        try sayWhoWrote(message)
        let prefix = form.time ? Self.prefix(message) : ""
        try print(text: message.body, prefix)
        if let file = AttachedFile(message) {
            try write(text: prefix + file.line(number: number, command: command))
        }
    }

    /// Prints the text of a body, or its data.
    private func print(text body: JSONObject, _ prefix: String) throws {
        if let text = body["text"]?.string {
            try write(text: prefix + text)
        } else if let data = body["data"]?.string.flatMap({ Base64.standard.decode($0) }) {
            if output.isTerminal || form.isMarked {
                try write(text: prefix + "[\(data.count) bytes that are not text]")
            } else {
                try output.write(data)
            }
        }
    }

    /// Writes one text, so that its end can be told from a line feed in it where that was asked for.
    private func write(text: String) throws {
        if form.null, !output.isTerminal {
            // U+0000 ends a text; in one it is U+FFFD.
            let scalars = text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }
            try output.write(Array(String(String.UnicodeScalarView(scalars)).utf8) + [0])
        } else if form.time, !output.isTerminal {
            try output.write(Array((Self.lines(text).joined(separator: "\n\t\t") + "\n").utf8))
        } else {
            try output.writeParagraph(text)
        }
    }

    /// The time and the name of a message, each with a tab after it.
    private static func prefix(_ message: Message) -> String {
        let time = message.time?.description ?? "-"
        let chat = message.details?["chat"]?.object
        let name =
            message.name ?? message.from?.description
            ?? (chat?["name"] ?? chat?["id"])?.string.map { "[\($0)]" } ?? "-"
        let plain = name.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        return "\(time)\t\(String(String.UnicodeScalarView(plain)))\t"
    }

    /// The lines of a text. A carriage return before a line feed stays with its line.
    private static func lines(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
    }

    /// A record that is no message; among texts it is what its body says, if it has one.
    func print(_ record: JSONObject) throws {
        guard printsText else { return try output.writeRecord(record) }
        if let body = record["body"]?.object {
            try print(text: body, form.time ? "-\t-\t" : "")
        }
    }

    /// A stranger's message, which waits.
    func print(requestOf envelope: Envelope, from sender: SessionID) throws {
        if !printsText {
            try output.writeRecord(
                JSONObject([
                    ("v", .integer(1)), ("type", .string("request")),
                    ("id", .string(envelope.id)), ("from", .string(sender.description)),
                    ("time", .string(envelope.time.description)),
                    ("suite", .string(envelope.suite.rawValue)),
                ]))
        }
        if !quiet, strangers.insert(sender).inserted {
            Terminal.say(
                "decrypt: note: a message of somebody who is no contact waits: contact requests")
        }
    }

    func print(error record: JSONObject) throws {
        if !printsText { try output.writeRecord(record) }
    }

    /// A name, in quotation marks if it has a character that ends or imitates the words after it.
    private static func quoted(_ name: String) -> String {
        guard name.contains(where: { "(),'\"".contains($0) }) || name.utf8.count > 64 else {
            return name
        }
        // Runs of spaces would move the rest of the line to the next one.
        return shellWord(name.split(separator: " ").joined(separator: " "))
    }

    /// Says on standard error who wrote the text that follows: for the first of each row of messages, on a terminal for
    /// each message, so that a text which looks like this line is found below another one.
    private func sayWhoWrote(_ message: Message) throws {
        guard !quiet else { return }
        let sender: String
        if let from = message.from {
            // An account of another messenger that is no contact's is known by its name there.
            let account = message.details?["whisperId"]?.string
            let name = message.name ?? account ?? from.description
            sender = "from \(Self.quoted(name)) (\(message.trust.rawValue))"
        } else {
            let chat = message.details?["chat"]?.object
            let name = (chat?["name"] ?? chat?["id"])?.string
            sender =
                (name.map { "in the chat \(Self.quoted($0)), " } ?? "")
                + "from somebody: nothing proves who wrote"
        }
        guard lastSender != sender || output.isTerminal && !form.time else { return }
        lastSender = sender
        // Texts before this line are those of the sender before.
        try output.flush()
        Terminal.say("decrypt: \(sender)")
    }
}
