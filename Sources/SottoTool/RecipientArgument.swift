import Glibc
public import Sotto

/// The recipient that `-r`, `--to` and similar options name: a card with an identity, or a bare age recipient.
public enum RecipientArgument: Sendable {
    case card(Card)
    case recipient(AgeRecipient)

    /// The maximum length of a card or list of recipients in bytes.
    private static let limit = 16 << 20

    /// Returns the recipient that `argument` names: a `sotto:` URI, an `age1…` string, an SSH key, or a file that
    /// contains one.
    public static func find(_ argument: String) throws -> RecipientArgument {
        if let target = try parse(argument) { return target }
        return try only(in: contents(of: argument), of: argument)
    }

    /// Returns the content of the file `argument`, or of stdin for `-`. Throws a failure that lists the forms of a
    /// card.
    public static func contents(of argument: String) throws(Failure) -> [UInt8] {
        var status = stat()
        if argument != "-", stat(argument, &status) != 0 {
            throw Failure(
                Failure.meaning(of: errno).0,
                "cannot read the card \(argument): \(Failure.text(of: errno))",
                hint: "use a card file, a sotto: URI, an age1… string or an ssh-ed25519 key")
        }
        return try Input(path: argument).readAll(limit: limit)
    }

    /// Returns the only recipient in `text`, which was read from `path`.
    public static func only(in text: [UInt8], of path: String) throws -> RecipientArgument {
        let all = try list(in: text, of: path)
        guard let first = all.first, all.count == 1 else {
            throw Failure(
                .malformed,
                "\(name(of: path)) contains \(all.count) recipients instead of one card",
                hint: all.isEmpty ? nil : "use -R for a list")
        }
        return first
    }

    /// Returns whether `argument` is a recipient itself: a `sotto:` URI, a `whisper2:` URL, an `age1…` string or an SSH
    /// key.
    public static func isWritten(_ argument: String) -> Bool {
        argument.hasPrefix("sotto:") || isWhisper2(argument) || isSSH(argument)
            || argument.lowercased().hasPrefix("age1") && !argument.contains("/")
                && access(argument, F_OK) != 0
    }

    /// Returns whether `argument` is the URL of a Whisper2 account, which is not a card.
    public static func isWhisper2(_ argument: String) -> Bool { argument.hasPrefix("whisper2:") }

    /// Returns whether `argument` is an SSH public key: its type and its base64.
    private static func isSSH(_ argument: String) -> Bool {
        ["ssh-ed25519 ", "ssh-rsa "].contains { argument.hasPrefix($0) }
    }

    /// Returns whether `argument` is the name of a readable file.
    public static func isFile(_ argument: String) -> Bool {
        var status = stat()
        return argument != "-" && stat(argument, &status) == 0
            && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Returns whether `argument` is neither a recipient nor a file, and so the name or id of a contact.
    public static func isName(_ argument: String) -> Bool {
        argument != "-" && !isWritten(argument) && !isFile(argument)
    }

    /// Returns whether `argument` is a key without an identity: an `age1…` string or an SSH key.
    public static func isBareKey(_ argument: String) -> Bool {
        isWritten(argument) && !argument.hasPrefix("sotto:") && !isWhisper2(argument)
    }

    /// Returns all recipients in a file, one per line: cards, URIs, `age1…` strings and SSH keys. `#` begins a comment.
    public static func list(in path: String) throws -> [RecipientArgument] {
        try list(in: Input(path: path).readAll(limit: limit), of: path)
    }

    private static func list(in text: [UInt8], of path: String) throws -> [RecipientArgument] {
        var targets: [RecipientArgument] = []
        for (index, bytes) in text.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).enumerated() {
            let line = trimmed(bytes)
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            do {
                if line.first == UInt8(ascii: "{") {
                    targets.append(.card(try card(Array(line))))
                } else if let text = String(validating: line, as: UTF8.self),
                    let target = try parse(text)
                {
                    targets.append(target)
                } else {
                    throw Failure(
                        .malformed,
                        "not a card, a sotto: URI, an age1… string or an ssh-ed25519 key")
                }
            } catch {
                guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
                throw Failure(
                    failure.status, "\(name(of: path)), line \(index + 1): \(failure.message)",
                    hint: failure.hint)
            }
        }
        return targets
    }

    private static func name(of path: String) -> String {
        path == "-" ? "standard input" : path
    }

    /// Returns the card that `argument` names. Throws a failure for a bare recipient.
    public static func card(_ argument: String) throws -> Card {
        try find(argument).card()
    }

    /// Returns the card. Throws a failure for a bare recipient.
    public func card() throws(Failure) -> Card {
        guard case .card(let card) = self else {
            if case .recipient(.ssh) = self {
                throw Failure(
                    .usage, "an SSH key has no sotto identity, but a card is needed here",
                    hint: "use a card file or a sotto: URI")
            }
            throw Failure(
                .usage, "an age1… string has no sotto identity, but a card is needed here",
                hint: "use a card file or a sotto: URI")
        }
        return card
    }

    private static func card(_ line: [UInt8]) throws -> Card {
        let record = try JSON.object(parsing: line)
        if record["type"]?.string == "identity" {
            throw Failure(
                .malformed, "this is an identity with its secret keys, not a card",
                hint: "use its card, the output of sotto keygen public")
        }
        return try Card(record: record)
    }

    private static func parse(_ text: String) throws -> RecipientArgument? {
        if text.hasPrefix("sotto:") { return .card(Card(uri: try ContactURI(text))) }
        if isWhisper2(text) {
            throw Failure(
                .usage, "a whisper2: URL is neither a card nor a key for files",
                hint:
                    "use it for messages with --to, or add it as a contact with sotto contact add --name NAME URL"
            )
        }
        if isWritten(text) {
            guard let recipient = AgeRecipient(text) else {
                if isSSH(text) {
                    throw Failure(
                        .malformed,
                        "not a valid ssh-ed25519 key: it has another type, is mistyped or is truncated",
                        hint: "create one: ssh-keygen -t ed25519")
                }
                throw Failure(
                    .malformed, "not a valid age1… recipient: it is mistyped or truncated")
            }
            return .recipient(recipient)
        }
        return nil
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop { $0 <= 0x20 }
        while let last = line.last, last <= 0x20 { line.removeLast() }
        return line
    }

    /// Returns the key that files are encrypted to.
    public func recipient(classic: Bool) throws(Failure) -> AgeRecipient {
        switch self {
        case .card(let card): return card.recipient(classic: classic)
        case .recipient(let recipient):
            guard !classic || !recipient.isPostQuantum else {
                throw Failure(.usage, "--classic cannot be used with an age1pq1… recipient")
            }
            return recipient
        }
    }
}
