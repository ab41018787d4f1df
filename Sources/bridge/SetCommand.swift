import Arguments
import Sotto
import SottoMessengers
import SottoTool

/// `bridge set`: stores keys for other messengers in an identity file.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract: "Store your WhisperID or a new RSA key for Mercurio in an identity.",
        usage: "sotto bridge set [--whisper-id WSP-ID] [--rsa BITS] [IDENTITY]",
        discussion: """
            The file is replaced atomically and keeps its passphrase. The words do not restore the RSA key: back it up with \
            bridge export rsa -o FILE. An existing RSA key is not replaced, because old messages need it.

            EXAMPLES
              sotto bridge set --whisper-id WSP-YS3T-HJGR-KQBZ alice.key
              sotto bridge set --rsa 3072 alice.key
            """)

    @Option(
        "--whisper-id", value: "wsp-id", help: "Your WhisperID, which Whisper2's server gave you.")
    var whisperID: WhisperID?

    @Option(
        "--rsa", value: "bits",
        help: "Create an RSA key for Mercurio, of 2048 or 3072 bits; the words do not restore it.",
        values: .any)
    var rsa: Int?

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard whisperID != nil || rsa != nil else {
            throw UsageError("use --whisper-id or --rsa")
        }
        guard rsa.map(MercurioPublicKey.sizes.contains) ?? true else {
            throw UsageError("--rsa must be 2048 or 3072")
        }
    }

    func execute() throws {
        whisperID?.warnIfMistyped()
        let key = try rsa.map { try MercurioPrivateKey(bits: $0) }
        try identity.store(
            Identity.members(whisperID: whisperID, rsaKey: key), in: file, quiet: quiet)
    }
}

extension IdentityOptions {
    /// Stores members in an identity file. An RSA key is stored only in an identity without one.
    func store(_ members: JSONObject, in file: String?, quiet: Bool) throws {
        let path = try replaceRecord(argument: file) { record in
            guard record["words"] != nil else { throw MnemonicError.noWords }
            for (name, value) in members.members {
                guard name != Identity.rsaMember || record[name] == nil || record[name] == value
                else {
                    throw Failure(
                        .cannotCreate, "the identity has an RSA key already",
                        hint:
                            "a new key would make old messages unreadable; make another identity for it"
                    )
                }
                // The relay stays the last member.
                let relay = record["relay"]
                record["relay"] = nil
                record[name] = value
                record["relay"] = relay
            }
        }
        guard !quiet else { return }
        if members[Identity.rsaMember] != nil {
            Terminal.say(
                "\(BridgeTool.toolName): note: the words do not restore the RSA key; back it up with sotto bridge export rsa -o rsa.pem"
            )
        }
        Terminal.say("\(BridgeTool.toolName): \(path) was changed")
    }
}
