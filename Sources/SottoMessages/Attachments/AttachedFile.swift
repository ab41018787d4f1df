package import Sotto

/// The file of a message, or the picture of a profile: an encrypted blob that is sent separately, with its key in the message.
package struct AttachedFile {
    /// The encryption of a blob.
    package enum Form {
        /// Chunks; the file has this length in bytes.
        case blob(BlobPointer, fileSize: Int64)
        /// One AES-256-GCM box. The key has 32 bytes.
        case box(key: [UInt8])
        /// The form of another messenger, which `bridge open` decrypts. The key has 32 bytes.
        case foreign(key: [UInt8])
    }

    /// The file name that the sender chose.
    package let name: String?
    /// The length of the file in bytes, or of the blob if the suite does not give the file's.
    package let size: Int64?
    /// The form with its key; `nil` if the record lacks a valid key.
    package let form: Form?
    /// The group of the message, or `nil`.
    package private(set) var group: GroupID?
    /// The record of the message, if the file was read from one.
    package private(set) var record: JSONObject = [:]
    /// The name of the messenger whose form the blob has, a word of the shell; `nil` for our own forms. An imported record can
    /// have any text there.
    package let messenger: String?
    /// The words for a person about a picture or a recording, such as `4032×3024`; empty if nothing is known.
    private var facts = ""
    private var isVoice = false

    /// Creates the file of a message; `nil` without an attachment.
    init?(_ message: Message) {
        self.init(
            body: message.body, details: message.details, suite: message.suite.rawValue)
    }

    /// Creates the file of a message record; `nil` without an attachment.
    package init?(record: JSONObject) {
        self.init(
            body: record["body"]?.object, details: record["details"]?.object,
            suite: record["suite"]?.string)
        group = record["group"]?.string.flatMap { GroupID($0) }
        self.record = record
    }

    private init?(body: JSONObject?, details: JSONObject?, suite: String?) {
        func key(_ file: JSONObject) -> [UInt8]? {
            try? Fields<FieldError>(file)["key"].bytes(count: 32)
        }
        if let body, body["type"]?.string == "file" {
            messenger = nil
            name = body["name"]?.string
            size = body["size"]?.integer
            let file: FileBody? =
                if case .file(let file)? = (try? MessageBody(body))?.kind { file } else { nil }
            if let width = file?.width, let height = file?.height {
                facts += ", \(width)×\(height)"
            }
            if let seconds = file?.duration {
                facts += ", \(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
            }
            isVoice = file?.voice ?? false
            if let file, let blob = file.blob {
                form = .blob(blob, fileSize: file.size)
            } else {
                form = key(body).map { .box(key: $0) }
            }
        } else if let body, case .profile(let profile)? = (try? MessageBody(body))?.kind,
            let picture = profile.picture
        {
            messenger = nil
            name = picture.fileName
            size = picture.size
            form = .blob(picture.blob, fileSize: picture.size)
        } else if let pointer = details?["untrusted"]?.object?["attachment"]?.object {
            messenger = suite.map(shellWord)
            name = pointer["objectKey"]?.string
            size = pointer["ciphertextSize"]?.integer
            form = key(pointer).map { .foreign(key: $0) }
        } else {
            return nil
        }
    }

    /// Returns one line of text for display. `number` is the number of the message in the state, if it is stored;
    /// `identity` are the options of the identity, each after a space.
    func line(number: Int64?, identity: String) -> String {
        let how =
            number.map { "to save it: \(savingCommand("\($0)", identity: identity))" }
            ?? "its key is in the record that --json prints"
        return "[\(title); \(how)]"
    }

    /// The kind, the name, the facts and the length of the file.
    var title: String {
        let name = Self.oneLine(self.name ?? "without a name")
        let size = self.size.map { ", \($0) bytes" } ?? ""
        return "\(isVoice ? "voice message" : "file") \(name)\(facts)\(size)"
    }

    /// Returns the command that saves the file of a message, which `record` names: its number, or a file with its record.
    package func savingCommand(_ record: String, identity: String) -> String {
        let command = (messenger.map { "sotto bridge open \($0)" } ?? "sotto decrypt") + identity
        let isAtRelay =
            if case .blob(let pointer, _)? = form { pointer.place != nil } else { false }
        return isAtRelay
            ? "sotto recv\(identity) --blob \(record) | \(command) --attachment \(record) -o ."
            : "\(command) --attachment \(record) -o FILE BLOB"
    }

    /// Returns a name without line ends and other control characters, so that it cannot imitate another line.
    private static func oneLine(_ name: String) -> String {
        let scalars = name.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
