import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Runs of `bridge` in place of `encrypt` and `decrypt`, for messages in other messengers' formats.
extension Party {
    /// Runs `encrypt`, or `bridge seal` if `--suite` names a messenger or `--form` asks for its record.
    ///
    /// Without `--form app`, the records of `bridge seal` are in envelopes, as version 0.1.0 made them.
    func seal(_ arguments: [String], stdin: [UInt8] = []) throws -> Run {
        var rest = arguments
        let suite = take("--suite", &rest)
        let form = take("--form", &rest)
        let isPublic = arguments.contains("--public-channel")
        guard let messenger = Messenger(rawValue: suite ?? (isPublic ? "shainy" : "")) else {
            switch (suite, form) {
            case ("phrase", "app"): return try run("encrypt", rest + ["--bare"], stdin: stdin)
            case (_, "app"): return try run("bridge", ["seal", "flow"] + rest, stdin: stdin)
            case (_, "file"): return try run("bridge", ["seal", "kecalek"] + rest, stdin: stdin)
            default:
                let named = suite.map { ["--suite", $0] } ?? []
                return try run("encrypt", named + rest, stdin: stdin)
            }
        }
        let isWrapped = form != "app"
        if isWrapped, messenger == .shainy, !isPublic { rest.append("--show-secret") }
        let made = try run("bridge", ["seal", messenger.rawValue] + rest, stdin: stdin)
        guard isWrapped, made.status == 0 else { return made }
        let recipients = values("--to", arguments)
        let envelopes = try made.lines.enumerated().map { index, line in
            try envelope(
                around: JSON.object(parsing: Array(line.utf8)), messenger,
                to: recipients.isEmpty ? nil : recipients[index % recipients.count],
                chat: values("--chat", arguments).first)
        }
        return Run(status: made.status, stdout: lines(envelopes), stderr: made.stderr)
    }

    /// Returns an envelope of version 0.1.0 around a messenger's record.
    private func envelope(
        around record: JSONObject, _ messenger: Messenger, to recipient: String?, chat: String?
    ) throws -> String {
        var payload = record
        var to: JSON?
        switch messenger {
        case .shainy:
            payload["type"] = nil
            payload["chatId"] = nil
            payload["chat"] =
                try chat.map { try JSON.object(parsing: home.files.read($0))["id"] }
                ?? .string(ShainyChat.globalID)
        case .whisper2:
            let name = recipient?.split(separator: ".").first ?? ""
            to = try JSON.object(parsing: home.files.read("\(name).key"))["id"]
        case .mercurio: to = record["recipient_mercurio_id"]
        }
        let envelope = JSONObject([
            ("v", .integer(1)), ("type", .string("envelope")), ("id", .string(Envelope.newID())),
            ("suite", .string(messenger.rawValue)), ("to", to),
            ("time", .string(Timestamp.now().description)), ("payload", .object(payload)),
        ])
        return String(decoding: envelope.serialized(), as: UTF8.self)
    }

    /// Runs `decrypt`, or `bridge open` if `--suite`, another option or the first line is of a messenger. `--chat` is
    /// passed on only to the formats that have it.
    func open(_ arguments: [String], stdin: [UInt8] = []) throws -> Run {
        var rest = arguments
        let suite = take("--suite", &rest)
        let format =
            arguments.contains("--ack") || suite == "ratchet"
            ? "flow" : suite.flatMap { Messenger(rawValue: $0)?.rawValue } ?? Self.format(of: stdin)
        guard let format else { return try run("decrypt", rest, stdin: stdin) }
        while format != "shainy", take("--chat", &rest) != nil {}
        return try run("bridge", ["open", format] + rest, stdin: stdin)
    }

    /// Returns the format of the first line, or `nil` if `decrypt` reads it.
    private static func format(of bytes: [UInt8]) -> String? {
        guard let line = bytes.split(separator: 10).first,
            let record = try? JSON.object(parsing: Array(line))
        else { return nil }
        if let suite = record["suite"]?.string { return Messenger(rawValue: suite)?.rawValue }
        if record["chatId"] != nil { return "shainy" }
        let isFlow = ["new_message", "ack"].contains(record["type"]?.string)
        return isFlow || record["encryptedPayload"] != nil ? "flow" : nil
    }

    private func take(_ option: String, _ arguments: inout [String]) -> String? {
        guard let index = arguments.firstIndex(of: option), index + 1 < arguments.count else {
            return nil
        }
        let value = arguments[index + 1]
        arguments.removeSubrange(index...(index + 1))
        return value
    }

    private func values(_ option: String, _ arguments: [String]) -> [String] {
        var rest = arguments
        var values: [String] = []
        while let value = take(option, &rest) { values.append(value) }
        return values
    }
}
