import Arguments
import Sotto
import SottoMessengers
import SottoTool
import SottoWire

/// The options that select the owner's accounts.
struct AccountOptions: ArgumentGroup {
    @Option("--user-id", value: "id", help: "Your user id in Kecalek.")
    var userID: String?

    @Option(
        "--whisper-id", value: "wsp-id", help: "Your WhisperID. Default: the one in the identity.")
    var whisperID: WhisperID?

    /// Throws for an option that is missing, or is for none of `profiles`.
    func check(_ profiles: Set<Profile>) throws {
        guard userID == nil || profiles.contains(.kecalek) else {
            throw UsageError("--user-id is only for kecalek")
        }
        guard userID != nil || !profiles.contains(.kecalek) else {
            throw UsageError("kecalek requires --user-id")
        }
        guard whisperID == nil || profiles.contains(.whisper2) else {
            throw UsageError("--whisper-id is only for whisper2")
        }
    }

    func kecalek(_ identity: Identity) throws -> KecalekQR {
        try KecalekQR(userID: userID ?? "", identityKey: identity.device.publicKey)
    }

    func whisper2(_ identity: Identity) throws -> Whisper2Contact {
        guard let id = try whisperID ?? identity.whisperID() else {
            throw MessengerError.noWhisperID
        }
        return try identity.whisper2Keys().contact(id)
    }

    func mercurio(_ identity: Identity) throws -> MercurioKeyBundle {
        guard let key = try identity.rsaKey() else { throw MessengerError.noRSAKey }
        return MercurioKeyBundle(key: key.publicKey, by: try identity.mercurioIdentity())
    }
}

struct AccountCommand: Program {
    static let configuration = CommandConfiguration(
        name: "account",
        abstract: "Print your account as its messenger shows it: a URL, an id, or a code's bytes.",
        usage: """
            sotto bridge account whisper2 [--whisper-id ID] [--id] [IDENTITY]
            sotto bridge account mercurio [--signed | --form CLIENT] [IDENTITY]
            sotto bridge account kecalek --user-id ID [IDENTITY]
            """,
        discussion: """
            whisper2 prints Whisper2's URL, or with --id only the WhisperID; mercurio the Session ID, and kecalek the bytes of Kecalek's QR code.

            EXAMPLES
              sotto bridge account whisper2 alice.key | sotto qr -o alice.png
              sotto bridge account mercurio --signed alice.key | sotto send
              sotto bridge account kecalek --user-id alice alice.key | sotto qr -o alice.png
            """)

    @Flag("--id", help: "whisper2: print only the WhisperID.")
    var id = false

    @Flag("--signed", help: "mercurio: print the RSA key, signed by the Session ID.")
    var signed = false

    @Option(
        "--form", value: "client",
        help: "mercurio: print the RSA key in the format of this client: ios, web or flutter.")
    var form: MercurioPublicKey.Form?

    @OptionGroup var accounts: AccountOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("messenger", help: "The messenger: whisper2, mercurio or kecalek.")
    var profile: Profile

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: profile) }

    func validate() throws {
        if form != nil { try given.refuse("--signed", with: "--form") }
        try accounts.check([profile])
    }

    func execute() throws {
        let owner = try identity.load(argument: file)
        accounts.whisperID?.warnIfMistyped()
        if profile == .kecalek {
            let payload = try accounts.kecalek(owner).payload
            let output = try Output(path: nil, content: .binary)
            try output.write(payload)
            return try output.finish()
        }
        let output = try Output(path: "-", content: .text)
        switch profile {
        case .whisper2 where id:
            try output.writeText(accounts.whisper2(owner).id.description + "\n")
        case .whisper2:
            try output.writeText(Whisper2AddURL.text(accounts.whisper2(owner)) + "\n")
        case .mercurio where form != nil:
            if let form { try output.writeLine(try accounts.mercurio(owner).record(form)) }
        case .mercurio where signed: try output.writeLine(try accounts.mercurio(owner).record)
        default: try output.writeText(owner.mercurioIdentity().id.description + "\n")
        }
        try output.finish()
    }
}

struct CardCommand: Program {
    static let configuration = CommandConfiguration(
        name: "card",
        abstract: "Print your signed card with your accounts in other messengers.",
        usage:
            "sotto bridge card MESSENGER [MESSENGER ...] [--user-id ID] [--relay URL] [-i IDENTITY]",
        discussion: """
            The card is that of keygen public, with the keys of the accounts. Each account is proven with its own key.

            EXAMPLES
              sotto bridge card whisper2 mercurio -i alice.key > alice.card
              sotto bridge card mercurio | sotto send             # into the relay's directory
            """)

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts; it is included in the card. Default: the identity's relay."
    )
    var relay: String?

    @OptionGroup var accounts: AccountOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("messenger", help: "The messengers: whisper2, mercurio or kecalek.")
    var profiles: [Profile] = []

    func validate() throws {
        guard !profiles.isEmpty else {
            throw UsageError("no messenger is given: whisper2, mercurio or kecalek")
        }
        try accounts.check(Set(profiles))
    }

    func execute() throws {
        let relay = try relay.map { try RelayURL(argument: $0) }
        let owner = try identity.load()
        accounts.whisperID?.warnIfMistyped()
        let card = try owner.card(
            relay: relay?.text,
            profiles: Profiles(
                kecalek: profiles.contains(.kecalek) ? try accounts.kecalek(owner).userID : nil,
                whisper2: profiles.contains(.whisper2) ? try accounts.whisper2(owner) : nil,
                mercurio: profiles.contains(.mercurio) ? try accounts.mercurio(owner) : nil),
            issued: .now())
        let output = try Output(path: "-", content: .text)
        if let record = card.record { try output.writeLine(record) }
        try output.finish()
    }
}
