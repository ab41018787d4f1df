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
        switch isWritten(argument) ? try parse(argument) : .other {
        case .target(let target): return target
        case .unsupported(let key): throw key.failure
        case .other: return try only(in: contents(of: argument), of: argument)
        }
    }

    /// Returns the content of the file `argument`, or of stdin for `-`. Throws a failure that lists the forms of a
    /// card.
    public static func contents(of argument: String) throws(Failure) -> [UInt8] {
        var status = stat()
        if argument != "-", stat(argument, &status) != 0 {
            guard !isURI(argument) else { throw Failure.otherURI }
            throw Failure(
                Failure.meaning(of: errno).0,
                "cannot read the card \(argument): \(Failure.text(of: errno))",
                hint: "use a card file, a sotto: URI, an age1… string or an ssh-ed25519 key")
        }
        return try Input(path: argument).readText(limit: limit)
    }

    /// Returns the only recipient in `text`, which was read from `path`.
    public static func only(in text: [UInt8], of path: String) throws -> RecipientArgument {
        let list = try list(in: text, of: path)
        if let (line, key) = list.skipped.first {
            throw Failure(
                key.failure.status, "\(name(of: path)), line \(line): \(key.failure.message)",
                hint: list.recipients.isEmpty ? key.failure.hint : "use -R for a list")
        }
        guard let first = list.recipients.first else { throw nothing(in: text, of: path) }
        guard list.recipients.count == 1 else {
            throw Failure(
                .malformed,
                "\(name(of: path)) contains \(list.recipients.count) recipients instead of one card",
                hint: "use -R for a list")
        }
        return first
    }

    /// The failure for a text without a recipient, such as what a command left that failed or a transfer that broke.
    private static func nothing(in text: [UInt8], of path: String) -> Failure {
        let isEmpty = text.allSatisfy { $0 <= 0x20 }
        return Failure(
            .malformed, "\(name(of: path)) \(isEmpty ? "is empty" : "contains no card")",
            hint: "get the card again: its owner prints it with sotto keygen public")
    }

    /// Returns whether `argument` is a recipient itself: a `sotto:` URI, an `age1…` string or an SSH key; or a secret key, which ``find(_:)`` refuses without printing it. Each may be surrounded as in ``Pasted``.
    public static func isWritten(_ argument: String) -> Bool {
        let text = Pasted.text(argument)
        return ContactURI.hasScheme(text) || SSHKeyLine.type(of: text) != nil
            || access(argument, F_OK) != 0
                && (Pasted.hasPrefix(text, "age1") && !text.contains("/")
                    || GivenSecret.isSecret(text))
    }

    /// Returns the id or the written recipient in an argument without what surrounds it, see ``Pasted``; any other
    /// argument, such as a file or a name, is returned unchanged.
    public static func pasted(_ argument: String) -> String {
        let text = Pasted.text(argument)
        return KeyID(text) != nil || isWritten(text) ? text : argument
    }

    /// Returns an argument for a message, but not a text that is or could be a secret.
    public static func shown(_ argument: String) -> String {
        GivenSecret.isSecret(argument) ? "the secret that was given" : argument
    }

    /// Returns whether `text` begins with the scheme of a URI and a colon, and has no white space.
    public static func isURI(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), text.first?.isLetter == true,
            !text.contains(where: \.isWhitespace)
        else { return false }
        return text[..<colon].utf8.count > 1 && text[colon...].utf8.count > 1
            && text[..<colon].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
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
        isWritten(argument) && !ContactURI.hasScheme(Pasted.text(argument))
    }

    /// The recipients of a list, and the keys in it that are not supported.
    public struct List: Sendable {
        /// The recipients, in their order.
        public internal(set) var recipients: [RecipientArgument] = []
        /// The other keys, each with the number of its line.
        public internal(set) var skipped: [(line: Int, key: UnsupportedRecipient)] = []
    }

    /// Returns all recipients in a file: cards, also over several lines, URIs, `age1…` strings and SSH keys. `#` begins
    /// a comment. SSH keys and recipients of a type that is not supported are skipped.
    ///
    /// Throws a failure with status 65 if no recipient is left.
    public static func list(in path: String) throws -> List {
        let text = try Input(path: path).readText(limit: limit)
        let list = try list(in: text, of: path)
        guard list.recipients.isEmpty else { return list }
        guard let first = list.skipped.first else {
            guard text.contains(where: { $0 > 0x20 }) else { throw nothing(in: text, of: path) }
            throw Failure(.malformed, "\(name(of: path)) contains no recipient")
        }
        throw Failure(
            .malformed,
            "\(name(of: path)) contains no recipient of a supported type: line \(first.line) is \(first.key.description)",
            hint: first.key.failure.hint)
    }

    private static func list(in text: [UInt8], of path: String) throws -> List {
        var list = List()
        var entries = PastedEntries(text)
        while let (line, bytes) = entries.next() {
            do {
                switch try parse(entry: bytes) {
                case .target(let target): list.recipients.append(target)
                case .unsupported(let key): list.skipped.append((line, key))
                case .other:
                    throw Failure(
                        .malformed,
                        "not a card, a sotto: URI, an age1… string or an ssh-ed25519 key")
                }
            } catch {
                guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
                throw Failure(
                    failure.status, "\(name(of: path)), line \(line): \(failure.message)",
                    hint: failure.hint)
            }
        }
        return list
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

    private enum Parsed {
        case target(RecipientArgument)
        case unsupported(UnsupportedRecipient)
        /// Nothing that is written itself.
        case other
    }

    /// Parses an entry of a list. The comment of an SSH key may have any encoding.
    private static func parse(entry bytes: ArraySlice<UInt8>) throws -> Parsed {
        if bytes.first == UInt8(ascii: "{") { return .target(.card(try card(Array(bytes)))) }
        let text = String(decoding: bytes, as: UTF8.self)
        guard SSHKeyLine.type(of: text) != nil || String(validating: bytes, as: UTF8.self) != nil
        else { return .other }
        return try parse(text)
    }

    private static func parse(_ argument: String) throws -> Parsed {
        let text = Pasted.text(argument)
        if ContactURI.hasScheme(text) { return .target(.card(Card(uri: try ContactURI(text)))) }
        if let recipient = AgeRecipient(text) { return .target(.recipient(recipient)) }
        if SSHKeyLine.type(of: text) != nil {
            if let other = UnsupportedRecipient(text), SSHKeyLine.isWhole(text) {
                return .unsupported(other)
            }
            throw Failure(
                .malformed, "not a valid SSH key: it is mistyped or truncated",
                hint: "use the whole line of the file that ends in .pub")
        }
        if let other = UnsupportedRecipient(text) { return .unsupported(other) }
        if Pasted.hasPrefix(text, "age1"), !text.contains("/") {
            throw Failure(.malformed, "not a valid age1… recipient: it is mistyped or truncated")
        }
        if let key = ForeignKey(text.utf8) { throw key.isNoRecipient }
        if GivenSecret.isSecret(text) { throw GivenSecret.isNoRecipient }
        return .other
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

extension Failure {
    /// The failure for a URI that is no recipient, such as an account in another messenger, status 64.
    public static let otherURI = Failure(
        .usage, "the URI is neither a sotto: URI nor a card",
        hint:
            "an account in another messenger becomes a contact: sotto contact add --name NAME URL")
}
