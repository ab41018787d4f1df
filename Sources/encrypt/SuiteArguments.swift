import Arguments
import Sotto
import SottoTool

/// The options for messages in other messengers' formats.
struct SuiteArguments: ArgumentGroup {
    @Option(
        "--chat", value: "file",
        help:
            "Encrypt the message for the chat in this file, made by keygen chat; alone or with --to."
    )
    var chat: String?

    @Option(
        "--form", value: "form",
        help:
            "Output format: envelope, app for the messenger's own record, or file for Message Flow's file format."
    )
    var form = MessageForm.envelope

    @Flag("--gcm", help: "shainy: write the app's GCM format instead of the documented CBC.")
    var gcm = false

    @Flag(
        "--no-hash",
        help:
            "shainy: write a zero hash of the text; only recipients that do not check it accept that."
    )
    var hidesHash = false

    @Flag("--public-channel", help: "shainy: write to the public channel, whose phrase is public.")
    var publicChannel = false

    @Flag(
        "--show-secret",
        help:
            "shainy: allow --form app to print the chat's key, which is the id in the app's format."
    )
    var showSecret = false

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Option("--group", value: "id", help: "whisper2: the group of all --to recipients.")
    var group: String?

    @Option(
        "--user-id", value: "id",
        help: "ratchet: your name in the messenger, for --form app. Default: your id.")
    var userID: String?

    @Option(
        "--attach", value: "file",
        help: "Encrypt this file too, with a key that is sent in the message.")
    var attach: String?

    @Option("--blob", value: "file", help: "Output file of the encrypted attachment.")
    var blob: String?

    @Option(
        "--content-type", value: "type", help: "The attachment's media type, such as image/png.")
    var contentType = "application/octet-stream"

    /// Whether the message is for a chat.
    var isForChat: Bool { chat != nil || publicChannel }

    /// The input files of these options.
    var files: [String] { [chat, attach].compactMap(\.self) }

    /// Whether any of these options was given.
    var isGiven: Bool {
        isForChat || form != .envelope || gcm || hidesHash || showSecret || whisperID != nil
            || group != nil || userID != nil || attach != nil || blob != nil
    }

    func validate() throws {
        guard (attach == nil) == (blob == nil) else {
            throw UsageError("--attach and --blob require each other")
        }
        guard chat == nil || !publicChannel else {
            throw UsageError("--public-channel and --chat cannot be combined")
        }
        guard (1...100).contains(contentType.utf8.count), !Self.hasControls(contentType) else {
            throw UsageError("--content-type must have 1 to 100 bytes and no control characters")
        }
        guard blob != "-", !Self.hasControls(blob ?? "") else {
            throw UsageError("the file name of --blob must not have control characters")
        }
        for (name, value) in [("--user-id", userID), ("--group", group)] {
            if let value {
                guard (1...255).contains(value.utf8.count), !Self.hasControls(value) else {
                    throw UsageError("\(name) must have 1 to 255 bytes and no control characters")
                }
            }
        }
    }

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// Throws for options that are not for `suite`.
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
            throw UsageError("--attach cannot be used with --suite \(suite!.rawValue)")
        }
    }
}

/// The output format of a message.
enum MessageForm: String, ExpressibleByArgument, CaseIterable {
    /// A sotto envelope.
    case envelope
    /// The messenger's own record.
    case app
    /// A Message Flow file.
    case file
}
