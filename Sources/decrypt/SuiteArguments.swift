import Arguments
import Sotto
import SottoTool

/// The options for messages in other messengers' formats.
struct SuiteArguments: ArgumentGroup {
    @Option(
        "--chat", value: "file",
        help: "Open messages of the chat in this file, made by keygen chat; may be repeated.")
    var chat: [String] = []

    @Option(
        "--suite", value: "suite",
        help: "The suite of lines that are a messenger's own records instead of envelopes.")
    var suite: Suite?

    @Flag(
        "--allow-unverified",
        help: "Treat messages without an authenticated sender as success; they are still marked.")
    var allowUnverified = false

    @Flag(
        "--allow-hidden-hash",
        help: "shainy: open texts with a zero hash, as written by encrypt --no-hash.")
    var allowHiddenHash = false

    @Option(
        "--max-skew", value: "seconds",
        help: "whisper2: refuse messages whose signed time differs from now by more than this.")
    var maxSkew: Int?

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Flag("--oaep-sha1", help: "mercurio: the keys are wrapped with SHA-1, as by an old client.")
    var oaepSHA1 = false

    @Option(
        "--attachment", value: "record",
        help:
            "Decrypt the input, an attachment, with the key in this message record from decrypt, or in the message with this number."
    )
    var attachment: String?

    @Flag(
        "--own-copy",
        help:
            "Each line is the base64 of a copy that Kecalek encrypted to your own identity key."
    )
    var ownCopy = false

    @Option(
        "--ack", value: "file",
        help: "Append an acknowledgement of each Message Flow message to this file.")
    var ack: String?

    /// Whether none of these options was given.
    var isUnused: Bool {
        chat.isEmpty && suite == nil && attachment == nil && ack == nil && maxSkew == nil
            && whisperID == nil && !(allowUnverified || allowHiddenHash || oaepSHA1 || ownCopy)
    }

    /// The input files of these options.
    var files: [String] { chat + [attachment].compactMap(\.self) }

    func validate() throws {
        guard suite != .sealed else {
            throw UsageError("--suite sealed has only envelopes and no own records")
        }
        if let maxSkew {
            guard (0...1_000_000_000).contains(maxSkew) else {
                throw UsageError("--max-skew must be 0 to 1000000000 seconds")
            }
        }
    }

    /// The options for the suites.
    var options: SuiteOptions {
        var options = SuiteOptions()
        options.allowsHiddenHash = allowHiddenHash
        options.maximumSkew = maxSkew.map { Int64($0) * 1000 }
        options.whisperID = whisperID
        options.rsaPadding = oaepSHA1 ? .sha1 : .sha256
        return options
    }
}
