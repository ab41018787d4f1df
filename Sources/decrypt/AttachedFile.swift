import Sotto

/// The file that a message points to: an encrypted blob that travels apart, whose key is in the message.
struct AttachedFile {
    /// Its name, as the sender wrote it.
    let name: String?
    /// Its length in bytes; that of the blob where the suite does not say more.
    let size: Int64?
    /// The suite in whose form the blob is.
    let suite: Suite
    /// The key, 32 bytes; `nil` if the record lacks a valid key.
    let key: [UInt8]?

    /// The file of a message; `nil` without an attachment.
    init?(_ message: Message) {
        self.init(body: message.body, details: message.details)
    }

    /// The file of a message record; `nil` without an attachment.
    init?(record: JSONObject) {
        self.init(body: record["body"]?.object, details: record["details"]?.object)
    }

    private init?(body: JSONObject?, details: JSONObject?) {
        let file: JSONObject
        if let body, body["type"]?.string == "file" {
            (file, suite) = (body, .ratchet)
            name = body["name"]?.string
            size = body["size"]?.integer
        } else if let pointer = details?["untrusted"]?.object?["attachment"]?.object {
            (file, suite) = (pointer, .whisper2)
            name = pointer["objectKey"]?.string
            size = pointer["ciphertextSize"]?.integer
        } else {
            return nil
        }
        key = file["key"]?.string.flatMap { Base64.standard.decode($0) }
            .flatMap { $0.count == 32 ? $0 : nil }
    }

    /// One line for people. `number` is the number of the message in the state, where it is kept; `command` calls
    /// `decrypt` with the same identity.
    func line(number: Int64?, command: String) -> String {
        let name = Self.oneLine(self.name ?? "without a name")
        let size = self.size.map { ", \($0) bytes" } ?? ""
        let how =
            number.map { "to save it: \(command) --attachment \($0) -o FILE BLOB" }
            ?? "its key is in the record, which decrypt prints without --text"
        return "[file \(name)\(size); \(how)]"
    }

    /// A name without what ends a line, which would make it look like another text.
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
