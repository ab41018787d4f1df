import Arguments
import Glibc
import Sotto
import SottoState
import SottoTool
import SottoWire

/// The phrase and the relay of a room.
struct RoomOptions: ArgumentGroup {
    @Option(
        "--phrase", value: "source",
        help:
            "The phrase of the room: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask; a new room gets nine random words."
    )
    var phrase: SecretSource?

    @Option(
        "--public-phrase", value: "text",
        help:
            "The phrase of a room that everybody may enter: its address contains it, and it may be weak.",
        values: .any)
    var publicPhrase: String?

    @Option(
        "--relay", value: "url",
        help: "The relay with the room. Default: that of the URI, $SOTTO_RELAY, or the identity's.")
    var relay: String?

    /// Whether a phrase is given for a new room.
    var hasPhrase: Bool { phrase != nil || publicPhrase != nil }

    func validate() throws {
        try phrase?.validate()
        guard let publicPhrase else { return }
        guard phrase == nil else {
            throw UsageError("--phrase and --public-phrase cannot be combined")
        }
        guard (1...Self.longestPublicPhrase).contains(publicPhrase.utf8.count),
            !publicPhrase.unicodeScalars.contains(where: \.isInvisible)
        else {
            throw UsageError(
                "the public phrase must have 1 to \(Self.longestPublicPhrase) bytes and no invisible characters"
            )
        }
    }

    /// The most bytes of a phrase in an address.
    private static let longestPublicPhrase = 128

    /// Returns the relay of a room. `uri` is an argument of the command. Throws a failure with status 78 without a relay.
    func address(_ uri: RoomURI?, _ owner: Identity) throws -> RelayURL {
        let texts = [relay, uri?.relay, environmentVariable("SOTTO_RELAY"), owner.relay]
        guard let text = texts.lazy.compactMap({ $0 }).first else {
            throw Failure(
                .configuration, "no relay is given",
                hint: "use --relay tcp://host:port, or tls:, ws:, wss:, http: or https:")
        }
        return try RelayURL(argument: text)
    }

    /// Reads the phrase of an existing room, and derives the keys of its door at a relay. The phrase in an address is public.
    func door(at relay: RelayURL, of uri: RoomURI?) throws -> RoomDoor {
        if let phrase { return try RoomDoor(phrase: phrase.read(), host: relay.host) }
        if let known = publicPhrase ?? uri?.phrase {
            return try RoomDoor(phrase: SecretBytes(copying: known.utf8), host: relay.host)
        }
        return try RoomDoor(
            phrase: Terminal.ask("Phrase of the room: ", secret: true), host: relay.host)
    }

    /// Derives the keys of a new door at a relay, from the given phrase or from random words. Throws a failure with status 64 for
    /// a weak phrase, and without one if standard error is no terminal: the words must not end in a log.
    func newDoor(at relay: RelayURL) throws -> NewDoor {
        if let publicPhrase {
            let door = try RoomDoor(
                phrase: SecretBytes(copying: publicPhrase.utf8), host: relay.host)
            return NewDoor(door: door, words: nil)
        }
        guard let phrase else {
            guard Terminal.isTerminal(2) else {
                throw Failure(
                    .usage,
                    "the phrase of a new room is shown only on a terminal, and standard error is none",
                    hint: "give a phrase of nine random words with --phrase @FILE:PATH")
            }
            let words = Wordlist.english.randomPhrase(wordCount: NewDoor.wordCount)
            return NewDoor(
                door: try RoomDoor(phrase: words, host: relay.host),
                words: words.withBytes { String(decoding: $0, as: UTF8.self) })
        }
        let secret = try phrase.read()
        let text = secret.withBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw PhraseError.phrase }
        let bits = PhraseStrength.bits(of: text)
        guard bits >= PhraseStrength.recommended else {
            throw Failure(
                .usage,
                "the phrase has about \(Int(bits)) bits, and a room needs \(Int(PhraseStrength.recommended)): the relay can try phrases",
                hint: "without --phrase the room gets nine random words")
        }
        return NewDoor(door: try RoomDoor(phrase: secret, host: relay.host), words: nil)
    }

    /// Prints the address of a new room that everybody may enter, with its phrase.
    func tellAddress(_ name: String, at relay: RelayURL, _ options: GroupOptions) {
        guard let publicPhrase else { return }
        let uri = RoomURI(relay: relay.text, name: name, phrase: publicPhrase)
        options.note(
            "everybody can enter with: sotto group join --nickname NAME \(shellWord(uri.text)) --send"
        )
    }

    /// Fetches the record of a room with `recv`, and decrypts it. Returns `nil` without a record there.
    ///
    /// Throws a failure with the status of `recv`, which printed the message.
    func content(of door: RoomDoor, at relay: RelayURL) throws -> RoomContent? {
        let result = try ToolRun(
            "recv", ["--room", door.id.description, "--relay", relay.text, "-q"]
        ).run()
        if result.status == ExitStatus.no.rawValue { return nil }
        guard result.status == 0 else { throw Failure.ended(result.status, "recv") }
        return try door.open(RoomRecord(record: JSON.object(parsing: result.output)))
    }

    /// Fetches a file of a room with `recv`, and decrypts it. Returns its changes.
    ///
    /// Throws a failure with the status of `recv`, which printed the message.
    func changes(of file: GroupFile, at relay: RelayURL) throws -> [GroupChange] {
        let message: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "body": .object([
                "type": .string("file"), "name": .string("changes"),
                "contentType": .string("application/octet-stream"), "size": .integer(file.size),
                "blob": .object(file.pointer.object),
            ]),
        ]
        let result = try ToolRun(
            "recv", ["--blob", "-", "--relay", relay.text, "-q"], input: message.serialized()
        ).run()
        guard result.status == 0 else {
            throw Failure(
                ExitStatus(rawValue: result.status) ?? .unavailable,
                "the file with the changes of the room cannot be fetched",
                hint: "ask a moderator to publish the room again")
        }
        return try file.records(in: MemorySource(result.output)).changes
    }
}

/// The door of a new room.
struct NewDoor {
    /// The words of a phrase that is made: 99 bits.
    static let wordCount = 9

    let door: RoomDoor
    /// The phrase that was made and is not shown yet, or `nil` if the user gave it.
    let words: String?

    /// Shows a phrase that was made on stderr, also with `--quiet`: nothing stores it. Throws a failure with status 74 if it cannot
    /// be written.
    func show() throws {
        guard let words else { return }
        try Terminal.tell("\(GroupTool.toolName): the phrase of the room, shown only now:")
        try Terminal.tell(words)
    }
}

/// The room that a command works on before it is a group here.
struct RoomArgument: ArgumentGroup {
    @OptionGroup var options: GroupOptions

    @OptionGroup var room: RoomOptions

    @Argument("uri", help: "The address of the room, sotto:room?…, from group door.")
    var uri: String?

    /// Returns the URI. Throws ``UsageError`` for another argument.
    func address() throws -> RoomURI? {
        guard let uri else { return nil }
        guard let read = RoomURI(uri) else {
            throw UsageError("\(uri) is not the address of a room, sotto:room?relay=…")
        }
        return read
    }
}
