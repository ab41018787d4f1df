import Arguments
import Sotto
import SottoTool

/// The options for messages in the form of other messengers.
struct SuiteArguments: ArgumentGroup {
    @Option(
        "--chat", value: "file",
        help: "Encrypt the message for this chat, whose file keygen chat made; alone or with --to.")
    var chat: String?

    @Option(
        "--form", value: "form",
        help:
            "What to print: envelope, app for the messenger's own record, or file for Message Flow's file form."
    )
    var form = MessageForm.envelope

    @Flag("--gcm", help: "shainy: write the app's GCM form, not the documented CBC.")
    var gcm = false

    @Flag(
        "--no-hash",
        help:
            "shainy: write zeros for the text's hash; only readers that do not check it take that.")
    var hidesHash = false

    @Flag("--public-channel", help: "shainy: write to the channel whose phrase everybody knows.")
    var publicChannel = false

    @Flag(
        "--show-secret",
        help: "shainy: print the chat's key where the app has it, as the id in --form app.")
    var showSecret = false

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Option("--group", value: "id", help: "whisper2: the group that all of --to belong to.")
    var group: String?

    @Option(
        "--user-id", value: "id",
        help: "ratchet: your name in the messenger, for --form app. Default: your id.")
    var userID: String?

    @Option(
        "--attach", value: "file",
        help: "Encrypt this file too, under a key that goes into the message.")
    var attach: String?

    @Option("--blob", value: "file", help: "Where the encrypted attachment goes.")
    var blob: String?

    @Option(
        "--content-type", value: "type", help: "The attachment's media type, such as image/png.")
    var contentType = "application/octet-stream"

    /// Whether the message goes to a chat.
    var isForChat: Bool { chat != nil || publicChannel }

    /// The files that are read.
    var files: [String] { [chat, attach].compactMap(\.self) }

    /// Whether any of these was given.
    var isGiven: Bool {
        isForChat || form != .envelope || gcm || hidesHash || showSecret || whisperID != nil
            || group != nil || userID != nil || attach != nil || blob != nil
    }

    func validate() throws {
        guard (attach == nil) == (blob == nil) else {
            throw UsageError("--attach and --blob go together")
        }
        guard chat == nil || !publicChannel else {
            throw UsageError("--public-channel and --chat cannot be combined")
        }
        guard (1...100).contains(contentType.utf8.count), !Self.hasControls(contentType) else {
            throw UsageError("--content-type has 1 to 100 bytes, and no control characters")
        }
        guard blob != "-", !Self.hasControls(blob ?? "") else {
            throw UsageError("--blob names a file, without control characters")
        }
        for (name, value) in [("--user-id", userID), ("--group", group)] {
            if let value {
                guard (1...255).contains(value.utf8.count), !Self.hasControls(value) else {
                    throw UsageError("\(name) has 1 to 255 bytes, and no control characters")
                }
            }
        }
    }

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// Throws for what does not go with `suite`.
    func check(_ suite: Suite?) throws {
        func demand(_ isGiven: Bool, _ name: String, _ suites: Suite...) throws {
            guard !isGiven || suite.map(suites.contains) == true else {
                let names = suites.map(\.rawValue).joined(separator: " or ")
                throw UsageError("\(name) is only for --suite \(names)")
            }
        }
        try demand(gcm, "--gcm", .shainy)
        try demand(hidesHash, "--no-hash", .shainy)
        try demand(publicChannel, "--public-channel", .shainy)
        try demand(showSecret, "--show-secret", .shainy)
        try demand(whisperID != nil, "--whisper-id", .whisper2)
        try demand(group != nil, "--group", .whisper2)
        try demand(userID != nil, "--user-id", .ratchet)
        try demand(chat != nil, "--chat", .phrase, .shainy)
        try demand(form == .file, "--form file", .ratchet)
        try demand(
            form == .app, "--form app", .ratchet, .phrase, .shainy, .whisper2, .mercurio)
        guard attach == nil || suite != .shainy && suite != .mercurio else {
            throw UsageError("--attach has no place in --suite \(suite!.rawValue)")
        }
    }
}

/// What a message is printed as.
enum MessageForm: String, ExpressibleByArgument, CaseIterable {
    /// Our envelope.
    case envelope
    /// The messenger's own record.
    case app
    /// Message Flow's file.
    case file
}
