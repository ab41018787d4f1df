import Sotto
import SottoTool

/// Prints what became of envelopes: records, or with `--text` only what messages say.
final class MessagePrinter {
    private let output: Output
    private let printsText: Bool
    private let quiet: Bool
    private var lastSender: String?
    private var strangers: Set<SessionID> = []

    init(output: Output, printsText: Bool, quiet: Bool) {
        self.output = output
        self.printsText = printsText
        self.quiet = quiet
    }

    func print(_ message: Message, seen: Bool) throws {
        guard printsText else {
            var record = message.record
            if seen { record["seen"] = .bool(true) }
            try output.writeRecord(record)
            return
        }
        sayWhoWrote(message)
        try print(text: message.body)
    }

    private func print(text body: JSONObject) throws {
        if let text = body["text"]?.string {
            try output.writeText(text + "\n")
        } else if let data = body["data"]?.string.flatMap({ Base64.standard.decode($0) }) {
            if output.isTerminal {
                try output.writeText("[\(data.count) bytes that are not text]\n")
            } else {
                try output.write(data)
            }
        }
    }

    /// A record that is no message; among texts it is what its body says, if it has one.
    func print(_ record: JSONObject) throws {
        guard printsText else { return try output.writeRecord(record) }
        if let body = record["body"]?.object { try print(text: body) }
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

    /// Text alone does not say whose it is; stderr does, for the first of each row of messages.
    private func sayWhoWrote(_ message: Message) {
        let sender: String
        if let from = message.from {
            // An account of another messenger that is no contact's is known by its name there.
            let account = message.details?["whisperId"]?.string
            let name = message.name ?? account ?? from.description
            sender = "from \(name) (\(message.trust.rawValue))"
        } else {
            let chat = message.details?["chat"]?.object
            let name = (chat?["name"] ?? chat?["id"])?.string
            sender =
                (name.map { "in the chat \($0), " } ?? "")
                + "from somebody: nothing proves who wrote"
        }
        guard !quiet, lastSender != sender else { return }
        lastSender = sender
        Terminal.say("decrypt: \(sender)")
    }
}
