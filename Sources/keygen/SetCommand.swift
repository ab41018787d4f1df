import Arguments
import Glibc
import Sotto
import SottoTool
import SottoWire

/// `keygen set`: changes the settings in an identity file.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract: "Set or remove the relay of an identity.",
        usage: "keygen set --relay URL | --no-relay [FILE]",
        discussion: """
            The file is replaced atomically and keeps its passphrase. Existing cards still name the old relay: give out \
            new ones.

            EXAMPLES
              keygen set --relay tls://relay.example.org:7667 alice.key
              keygen public alice.key | send
            """)

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, tcp://host:port or another address that recv accepts."
    )
    var relay: String?

    @Flag("--no-relay", help: "Remove the relay from the identity.")
    var noRelay = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard (relay == nil) == noRelay else {
            throw UsageError("use either --relay or --no-relay")
        }
        guard file == nil || !identity.isGiven else {
            throw UsageError("the identity is given twice: use either an argument or -i")
        }
    }

    func execute() throws {
        let address = try relay.map { try RelayOptions.address($0) }
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        guard path != "-" else {
            throw Failure(.usage, "standard input cannot be changed", hint: "give a file name")
        }
        let original = try OriginalFile(path)
        var (text, passphrase) = try IdentityFile.opened(path, passphrase: identity.passphrase)
        defer { wipe(&text) }
        guard var record = try? JSON.object(parsing: text),
            (try? Identity(record: record)) != nil
        else {
            throw Failure(
                .malformed, "\(path) is not a sotto identity and cannot have a relay",
                hint: "create one with keygen")
        }
        record["relay"] = address.map { .string($0.text) }
        var line = record.serialized() + [UInt8(ascii: "\n")]
        defer { wipe(&line) }
        // A symbolic link is kept: its target is replaced.
        guard let resolved = realpath(path, nil) else { throw Failure(errno: errno, "read", path) }
        defer { free(resolved) }
        let output = try Output(path: String(cString: resolved), content: .text)
        if let passphrase {
            try output.write(AgeFile.seal(line, for: .passphrase(passphrase), armored: true))
        } else {
            try output.write(line)
        }
        try output.keepOwner(original.owner)
        try output.finish()
        guard !quiet else { return }
        let change = address.map { "has the relay \($0)" } ?? "no longer has a relay"
        Terminal.say("\(KeygenTool.toolName): \(path) \(change)")
    }
}
