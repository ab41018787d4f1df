package import Arguments
import Sotto
package import SottoState
import SottoTool

/// The options for files that are sent with a message.
package struct AttachmentOptions: ArgumentGroup {
    @Option(
        "--attach", value: "file",
        help:
            "Encrypt this file too, or - for stdin, with a key that is sent in the message. May be repeated; each file is a message."
    )
    package var attach: [String] = []

    @OptionGroup package var description: AttachmentDescription

    @Flag(
        "--anyway",
        help:
            "Send a text or file all the same if it is a secret key, an identity or recovery words."
    )
    package var anyway = false

    @Option(
        "--blob", value: "file",
        help:
            "Output file of the encrypted attachment, to carry it yourself. Without it, encrypt lets send upload it."
    )
    package var blob: String?

    package init() {}

    /// Returns the file with the text of the message: `file`, or an empty one if standard input is an attachment.
    ///
    /// Throws ``UsageError`` if standard input would be both.
    package func textFile(_ file: String?) throws(UsageError) -> String? {
        guard attach.contains("-") else { return file }
        guard file != "-" else {
            throw UsageError("standard input is the attachment, so the text must be in a file")
        }
        return file ?? "/dev/null"
    }

    /// Returns what the input contains: one message with the attachments, or a message on each line.
    ///
    /// Throws ``UsageError`` for options that contradict each other, and a failure with status 64 if the blob would
    /// replace one of the files that the command reads, or its output.
    ///
    /// `file` is the input, if it has a name. `announcer` is the name of the tool in notes, or `nil` for none. Without `--blob` the blob is for `send`; `nil` in
    /// place of `uploads` requires `--blob`.
    package func messages(
        perLine: Bool, file: String? = nil, isNoneOf read: [String], output: String?,
        announcer: String?, form: Attachment.Form, uploads: (() throws -> BlobFolder)? = nil
    ) throws -> InputMessages {
        guard !attach.isEmpty else {
            if blob != nil { throw UsageError("--blob requires --attach") }
            try description.refuse(without: "--attach")
            return perLine ? .lines : .whole([], long: try longText(file, announcer, form, uploads))
        }
        guard blob != nil || uploads != nil else {
            throw UsageError(
                "--attach requires --blob here, because the file is not sent to a mailbox")
        }
        guard attach.count == 1 || blob == nil else {
            throw UsageError("--blob is for a single --attach")
        }
        try description.check(attach, option: "--attach")
        guard !perLine else {
            throw UsageError("--attach is for a single message and cannot be combined with --jsonl")
        }
        if let blob {
            guard blob != "-", !hasControls(blob) else {
                throw UsageError("the file name of --blob must not have control characters")
            }
            try Output.check(blob, isNoneOf: read)
            guard blob != output else { throw UsageError("--blob and -o are the same file") }
        }
        let folder = blob == nil ? try uploads?() : nil
        return .whole(
            attach.map { path in
                Attachment(
                    description.file(path, allowsSecrets: anyway),
                    blob: blob ?? folder?.new() ?? "", uploads: folder,
                    announcer: announcer, form: form)
            }, long: nil)
    }

    /// Returns how a text that is too long for a message, or a `file` that is no text, becomes a file; `nil` without uploads.
    private func longText(
        _ file: String?, _ announcer: String?, _ form: Attachment.Form,
        _ uploads: (() throws -> BlobFolder)?
    ) throws -> ((Attachment.Content) throws -> Attachment)? {
        guard let uploads else { return nil }
        return { content in
            let folder = try uploads()
            let isText = if case .text = content { true } else { false }
            if let file, file != "-", !isText {
                if let announcer {
                    Terminal.say(
                        "\(announcer): note: \(file) is not text, so it is sent as a file, as with --attach \(shellWord(file))"
                    )
                }
                return Attachment(
                    description.file(file, allowsSecrets: anyway), blob: folder.new(),
                    uploads: folder,
                    announcer: announcer, form: form)
            }
            let name = isText ? "message.txt" : "message.bin"
            if let announcer {
                Terminal.say(
                    "\(announcer): note: the text is too long for a message, so it is sent as a file, \(name)"
                )
            }
            return Attachment(
                Attachment.Description(
                    content: content, name: name, contentType: isText ? "text/plain" : nil,
                    allowsSecrets: anyway),
                blob: folder.new(), uploads: folder, announcer: announcer, form: form)
        }
    }
}

/// The options that describe attached files to the recipient.
package struct AttachmentDescription: ArgumentGroup {
    @Option(
        "--name", value: "name",
        help: "The attachment's name for the recipient. Default: that of the file.")
    package var name: String?

    @Option(
        "--content-type", value: "type",
        help: "The attachment's media type, such as video/mp4. Default: by its content.")
    package var contentType: String?

    @Flag("--voice", help: "The attachment is a voice message.")
    package var isVoice = false

    @Flag(
        "--keep-metadata",
        help: "Send a JPEG or PNG picture with the place, the time and the camera that it names.")
    package var keepsMetadata = false

    package init() {}

    /// Throws ``UsageError`` if one of the options is given, because they require another.
    func refuse(without other: String) throws(UsageError) {
        let given = [
            ("--name", name != nil), ("--content-type", contentType != nil),
            ("--voice", isVoice), ("--keep-metadata", keepsMetadata),
        ]
        if let (option, _) = given.first(where: \.1) {
            throw UsageError("\(option) requires \(other)")
        }
    }

    /// Throws ``UsageError`` if the options do not fit these files, which `option` names.
    package func check(_ paths: [String], option: String) throws(UsageError) {
        guard paths.count == 1 || name == nil else {
            throw UsageError("--name is for a single \(option)")
        }
        guard paths.filter({ $0 == "-" }).count < 2 else {
            throw UsageError("standard input can be read only once")
        }
        guard !paths.contains("-") || name != nil else {
            throw UsageError("\(option) - requires --name, because standard input has no name")
        }
        if let name, !FileBody.isName(name) {
            throw UsageError("--name is not the name of a file without a path")
        }
        if let contentType {
            guard (1...100).contains(contentType.utf8.count), !hasControls(contentType) else {
                throw UsageError(
                    "--content-type must have 1 to 100 bytes and no control characters")
            }
        }
    }

    /// Returns the description of the file at `path`; `-` is standard input.
    package func file(_ path: String, allowsSecrets: Bool) -> Attachment.Description {
        Attachment.Description(
            content: .file(path: path), name: name ?? FileBody.name(ofPath: path),
            contentType: contentType, isVoice: isVoice, keepsMetadata: keepsMetadata,
            allowsSecrets: allowsSecrets)
    }
}

/// The messages in the input of a tool that encrypts them.
package enum InputMessages {
    /// The input is one message, or the text of the first attachment if there are any. `long` makes a file of a content
    /// that is too long for a message.
    case whole([Attachment], long: ((Attachment.Content) throws -> Attachment)?)
    /// Each line is a message.
    case lines
}

/// Returns whether a text has control characters.
package func hasControls(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.properties.generalCategory == .control }
}
