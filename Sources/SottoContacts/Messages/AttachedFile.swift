package import Sotto

/// The file of a message: an encrypted blob that is sent separately, with its key in the message.
package struct AttachedFile {
    /// The file name that the sender chose.
    package let name: String?
    /// The length of the file in bytes, or of the blob if the suite does not give the file's.
    package let size: Int64?
    /// Whether the blob has Whisper2's format; otherwise it has Sotto's.
    package let isWhisper2: Bool
    /// The key, 32 bytes; `nil` if the record lacks a valid key.
    package let key: [UInt8]?

    /// Creates the file of a message; `nil` without an attachment.
    init?(_ message: Message) {
        self.init(body: message.body, details: message.details)
    }

    /// Creates the file of a message record; `nil` without an attachment.
    package init?(record: JSONObject) {
        self.init(body: record["body"]?.object, details: record["details"]?.object)
    }

    private init?(body: JSONObject?, details: JSONObject?) {
        let file: JSONObject
        if let body, body["type"]?.string == "file" {
            (file, isWhisper2) = (body, false)
            name = body["name"]?.string
            size = body["size"]?.integer
        } else if let pointer = details?["untrusted"]?.object?["attachment"]?.object {
            (file, isWhisper2) = (pointer, true)
            name = pointer["objectKey"]?.string
            size = pointer["ciphertextSize"]?.integer
        } else {
            return nil
        }
        key = try? Fields<FieldError>(file)["key"].bytes(count: 32)
    }

    /// Returns one line of text for display. `number` is the number of the message in the state, if it is stored;
    /// `identity` are the options of the identity, each after a space.
    func line(number: Int64?, identity: String) -> String {
        let command = (isWhisper2 ? "bridge open whisper2" : "decrypt") + identity
        let name = Self.oneLine(self.name ?? "without a name")
        let size = self.size.map { ", \($0) bytes" } ?? ""
        let how =
            number.map { "to save it: \(command) --attachment \($0) -o FILE BLOB" }
            ?? "its key is in the record that is printed without --text"
        return "[file \(name)\(size); \(how)]"
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
