import Glibc
public import Sotto

/// Whom `-r`, `--to` and their kind name: a card with an identity behind it, or a bare age recipient.
public enum RecipientArgument: Sendable {
    case card(Card)
    case recipient(AgeRecipient)

    /// The longest card or list of recipients that is read.
    private static let limit = 16 << 20

    /// Finds what `argument` names: a `sotto:` URI, an `age1…` string, an SSH key, or a file with one.
    public static func find(_ argument: String) throws -> RecipientArgument {
        if let target = try parse(argument) { return target }
        return try only(in: contents(of: argument), of: argument)
    }

    /// What the file `argument` holds, or stdin for `-`. Throws a failure that says what a card may be.
    public static func contents(of argument: String) throws(Failure) -> [UInt8] {
        var status = stat()
        if argument != "-", stat(argument, &status) != 0 {
            throw Failure(
                Failure.meaning(of: errno).0,
                "cannot read the card \(argument): \(Failure.text(of: errno))",
                hint: "a card is a file, a sotto: URI, an age1… string or an ssh-ed25519 key")
        }
        return try Input(path: argument).readAll(limit: limit)
    }

    /// The one target in `text`, which was read from `path`.
    public static func only(in text: [UInt8], of path: String) throws -> RecipientArgument {
        let all = try list(in: text, of: path)
        guard let first = all.first, all.count == 1 else {
            throw Failure(
                .malformed,
                "\(name(of: path)) holds \(all.count) recipients, where one card is expected",
                hint: all.isEmpty ? nil : "give a list with -R")
        }
        return first
    }

    /// Whether `argument` holds a recipient itself: a `sotto:` URI, a `whisper2:` URL, an `age1…` string or an
    /// SSH key.
    public static func isWritten(_ argument: String) -> Bool {
        argument.hasPrefix("sotto:") || isWhisper2(argument) || isSSH(argument)
            || argument.lowercased().hasPrefix("age1") && !argument.contains("/")
                && access(argument, F_OK) != 0
    }

    /// Whether `argument` is the URL of a Whisper2 account, which is no card.
    public static func isWhisper2(_ argument: String) -> Bool { argument.hasPrefix("whisper2:") }

    /// Whether `argument` is a public key of SSH: its type and its base64.
    private static func isSSH(_ argument: String) -> Bool {
        ["ssh-ed25519 ", "ssh-rsa "].contains { argument.hasPrefix($0) }
    }

    /// Whether something that can be read as a file has this name.
    public static func isFile(_ argument: String) -> Bool {
        var status = stat()
        return argument != "-" && stat(argument, &status) == 0
            && status.st_mode & S_IFMT != S_IFDIR
    }

    /// All recipients in a file, one on a line: cards, URIs, `age1…` strings, SSH keys; `#` begins a comment.
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

    /// The card that `argument` names; a bare recipient is refused.
    public static func card(_ argument: String) throws -> Card {
        try find(argument).card()
    }

    /// The card; a bare recipient is refused.
    public func card() throws(Failure) -> Card {
        guard case .card(let card) = self else {
            if case .recipient(.ssh) = self {
                throw Failure(
                    .usage, "an SSH key names no identity, and a card is needed here",
                    hint: "give a card file or a sotto: URI")
            }
            throw Failure(
                .usage, "an age1… string names no identity, and a card is needed here",
                hint: "give a card file or a sotto: URI")
        }
        return card
    }

    private static func card(_ line: [UInt8]) throws -> Card {
        let record = try JSON.object(parsing: line)
        if record["type"]?.string == "identity" {
            throw Failure(
                .malformed, "an identity, with its secret keys, where a card is expected",
                hint: "the card is what keygen public prints of it")
        }
        return try Card(record: record)
    }

    private static func parse(_ text: String) throws -> RecipientArgument? {
        if text.hasPrefix("sotto:") { return .card(Card(uri: try ContactURI(text))) }
        if isWhisper2(text) {
            throw Failure(
                .usage, "a whisper2: URL is no card, and no key for files",
                hint:
                    "it serves as a recipient of messages, with --to; contact add keeps it under a name"
            )
        }
        if isWritten(text) {
            guard let recipient = AgeRecipient(text) else {
                if isSSH(text) {
                    throw Failure(
                        .malformed, "not a valid ssh-ed25519 key: of another type, mistyped or cut",
                        hint: "make one: ssh-keygen -t ed25519")
                }
                throw Failure(.malformed, "not a valid age1… recipient: mistyped or cut")
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

    /// The key that files are encrypted to.
    public func recipient(classic: Bool) throws(Failure) -> AgeRecipient {
        switch self {
        case .card(let card): return card.recipient(classic: classic)
        case .recipient(let recipient):
            guard !classic || !recipient.isPostQuantum else {
                throw Failure(.usage, "--classic does not fit an age1pq1… recipient")
            }
            return recipient
        }
    }
}
