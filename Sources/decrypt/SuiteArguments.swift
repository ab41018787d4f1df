import Arguments
import Sotto
import SottoTool

/// The options for messages in the form of other messengers.
struct SuiteArguments: ArgumentGroup {
    @Option(
        "--chat", value: "file",
        help: "Open messages of this chat, whose file keygen chat made; may be repeated.")
    var chat: [String] = []

    @Option(
        "--suite", value: "suite",
        help: "The suite of lines that are not envelopes but a messenger's own records.")
    var suite: Suite?

    @Flag(
        "--allow-unverified",
        help: "Take messages whose sender nothing proves as success; they are marked all the same.")
    var allowUnverified = false

    @Flag(
        "--allow-hidden-hash",
        help: "shainy: open texts whose hash is zeros, as encrypt --no-hash writes them.")
    var allowHiddenHash = false

    @Option(
        "--max-skew", value: "seconds",
        help: "whisper2: refuse messages whose signed time is further from now than this.")
    var maxSkew: Int?

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Flag("--oaep-sha1", help: "mercurio: the keys were wrapped with SHA-1, as an old client did.")
    var oaepSHA1 = false

    @Option(
        "--attachment", value: "record",
        help:
            "Decrypt the input, an attachment, with the key in this message record, as decrypt printed it, or in the message of this number."
    )
    var attachment: String?

    @Flag(
        "--own-copy",
        help:
            "Each line is the base64 of a copy that Kecalek encrypted to ourselves under our identity key."
    )
    var ownCopy = false

    @Option(
        "--ack", value: "file",
        help: "Append Message Flow's acknowledgement of each of its messages to this file.")
    var ack: String?

    /// Whether nothing was asked for.
    var isUnused: Bool {
        chat.isEmpty && suite == nil && attachment == nil && ack == nil && maxSkew == nil
            && whisperID == nil && !(allowUnverified || allowHiddenHash || oaepSHA1 || ownCopy)
    }

    /// The files that are read.
    var files: [String] { chat + [attachment].compactMap(\.self) }

    func validate() throws {
        guard suite != .sealed else {
            throw UsageError("--suite sealed has no records of its own")
        }
        if let maxSkew {
            guard (0...1_000_000_000).contains(maxSkew) else {
                throw UsageError("--max-skew is 0 to 1000000000 seconds")
            }
        }
    }

    /// What was asked for of the suites.
    var options: SuiteOptions {
        var options = SuiteOptions()
        options.allowsHiddenHash = allowHiddenHash
        options.maximumSkew = maxSkew.map { Int64($0) * 1000 }
        options.whisperID = whisperID
        options.rsaPadding = oaepSHA1 ? .sha1 : .sha256
        return options
    }
}
