import Arguments
import Sotto
import SottoTool
import SottoWire

struct Public: Program {
    static let configuration = CommandConfiguration(
        name: "public", abstract: "Print the public card as a JSON record or a URI.",
        usage: """
            keygen public [--relay URL] [--include PROFILE ...] [--user-id ID] [FILE]
            keygen public --uri [--relay URL] [FILE]
            keygen public --profile whisper2 [--whisper-id ID] [FILE]
            keygen public --profile mercurio [--bundle | --form CLIENT] [FILE]
            keygen public --profile kecalek --user-id ID [FILE]
            """,
        discussion: """
            PROFILE is whisper2, mercurio or kecalek. With --profile, the account is printed as its messenger shows it: \
            Whisper2's URL, Mercurio's Session ID, or the bytes of Kecalek's QR code.

            EXAMPLES
              keygen public --include mercurio alice.key > alice.card
              keygen public alice.key | send          # into the relay's directory
              keygen public --profile whisper2 alice.key | qr -o alice.png
              keygen public --profile kecalek --user-id alice alice.key | qr -o alice.png
            """)

    @Flag("--uri", help: "Print a short sotto: URI without the post-quantum key.")
    var uri = false

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts; it is included in the card. Default: the identity's relay."
    )
    var relay: String?

    @Option(
        "--profile", value: "profile",
        help: "Print the account as this messenger shows it: whisper2, mercurio or kecalek.")
    var profile: Profile?

    @Option(
        "--include", value: "profile",
        help: "Include the keys of this messenger in the card; may be repeated.")
    var include: [Profile] = []

    @Option("--user-id", value: "id", help: "Your user id in Kecalek.")
    var userID: String?

    @Option(
        "--whisper-id", value: "wsp-id", help: "Your WhisperID. Default: the one in the identity.")
    var whisperID: WhisperID?

    @Flag("--bundle", help: "With --profile mercurio: print the RSA key, signed by the Session ID.")
    var bundle = false

    @Option(
        "--form", value: "client",
        help:
            "With --profile mercurio: print the RSA key in the format of this client: ios, web or flutter."
    )
    var form: MercurioPublicKey.Form?

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !uri || include.isEmpty else {
            throw UsageError("--uri and --include cannot be combined")
        }
        guard profile == nil || !uri && include.isEmpty && relay == nil else {
            throw UsageError("--profile cannot be combined with --uri, --include or --relay")
        }
        guard !bundle && form == nil || profile == .mercurio, !bundle || form == nil else {
            throw UsageError("only one of --bundle and --form can be used, with --profile mercurio")
        }
        let asked = Set(include + (profile.map { [$0] } ?? []))
        guard asked.contains(.kecalek) == (userID != nil) else {
            throw UsageError(
                userID == nil
                    ? "kecalek requires --user-id" : "--user-id is only for kecalek")
        }
        guard whisperID == nil || asked.contains(.whisper2) else {
            throw UsageError("--whisper-id is only for whisper2")
        }
    }

    func execute() throws {
        let address = try relay.map { try RelayOptions.address($0) }
        let identity = try load(identity, file)
        whisperID?.warnIfMistyped()
        if let profile { return try show(profile, of: identity) }
        let card = try identity.card(
            relay: address?.text, profiles: profiles(of: identity), issued: .now())
        let output = try Output(path: "-", content: .text)
        if uri {
            try output.writeText(card.uri.text + "\n")
        } else if let record = card.record {
            try output.writeLine(record)
        }
        try output.finish()
    }

    /// Prints an account as its messenger shows it.
    private func show(_ profile: Profile, of identity: Identity) throws {
        if profile == .kecalek {
            let payload = try kecalek(identity).payload
            let output = try Output(path: nil, content: .binary)
            try output.write(payload)
            return try output.finish()
        }
        let output = try Output(path: "-", content: .text)
        switch profile {
        case .whisper2: try output.writeText(Whisper2AddURL.text(whisper2(identity)) + "\n")
        case .mercurio where form != nil:
            if let form { try output.writeLine(try mercurio(identity).record(form)) }
        case .mercurio where bundle: try output.writeLine(try mercurio(identity).record)
        default: try output.writeText(identity.mercurioIdentity().id.description + "\n")
        }
        try output.finish()
    }

    private func profiles(of identity: Identity) throws -> Profiles {
        Profiles(
            kecalek: include.contains(.kecalek) ? try kecalek(identity).userID : nil,
            whisper2: include.contains(.whisper2) ? try whisper2(identity) : nil,
            mercurio: include.contains(.mercurio) ? try mercurio(identity) : nil)
    }

    private func kecalek(_ identity: Identity) throws -> KecalekQR {
        try KecalekQR(userID: userID ?? "", identityKey: identity.id.publicKey)
    }

    private func whisper2(_ identity: Identity) throws -> Whisper2Contact {
        guard let id = whisperID ?? identity.whisperID else { throw SuiteError.noWhisperID }
        return try identity.whisper2Keys().contact(id)
    }

    private func mercurio(_ identity: Identity) throws -> MercurioKeyBundle {
        guard let key = try identity.rsaKey() else { throw SuiteError.noRSAKey }
        return MercurioKeyBundle(key: key.publicKey, by: try identity.mercurioIdentity())
    }
}
