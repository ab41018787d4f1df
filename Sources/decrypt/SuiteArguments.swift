import ArgumentParser
import Sotto
import SottoTool

/// The options for messages in the form of other messengers.
struct SuiteArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Open messages of this chat, whose file keygen chat made; may be repeated.",
            valueName: "file"))
    var chat: [String] = []

    @Option(
        help: ArgumentHelp(
            "The suite of lines that are not envelopes but a messenger's own records.",
            valueName: "suite"))
    var suite: Suite?

    @Flag(
        help: "Take messages whose sender nothing proves as success; they are marked all the same.")
    var allowUnverified = false

    @Flag(help: "shainy: open texts whose hash is zeros, as encrypt --no-hash writes them.")
    var allowHiddenHash = false

    @Option(
        help: ArgumentHelp(
            "whisper2: refuse messages whose signed time is further from now than this.",
            valueName: "seconds"))
    var maxSkew: Int?

    @Option(
        help: ArgumentHelp(
            "whisper2: your account. Default: the one in the identity file.", valueName: "wsp-id"))
    var whisperID: WhisperID?

    @Flag(
        name: .customLong("oaep-sha1"),
        help: "mercurio: the keys were wrapped with SHA-1, as an old client did.")
    var oaepSHA1 = false

    @Option(
        help: ArgumentHelp(
            "Decrypt the input, an attachment, with the key in this message record, as decrypt printed it.",
            valueName: "record"))
    var attachment: String?

    @Flag(
        help:
            "Each line is the base64 of a copy that Kecalek encrypted to ourselves under our identity key."
    )
    var ownCopy = false

    @Option(
        help: ArgumentHelp(
            "Append Message Flow's acknowledgement of each of its messages to this file.",
            valueName: "file"))
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
            throw ValidationError("--suite sealed has no records of its own")
        }
        if let maxSkew {
            guard (0...1_000_000_000).contains(maxSkew) else {
                throw ValidationError("--max-skew is 0 to 1000000000 seconds")
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
