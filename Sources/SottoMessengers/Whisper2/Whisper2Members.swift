import Sotto

typealias Whisper2Fields = Fields<Whisper2RecordError>

extension Whisper2Fields {
    /// Requires version 1 in `protocolVersion` and `cryptoVersion`.
    func requireVersions() throws(Whisper2RecordError) {
        try version("protocolVersion")
        try version("cryptoVersion")
    }

    /// Returns the pointer in the member `attachment`, or `nil` if it is absent or null.
    func attachment() throws(Whisper2RecordError) -> Whisper2AttachmentPointer? {
        guard let field = self["attachment"].nullable else { return nil }
        return try Whisper2AttachmentPointer(record: field.object())
    }
}

extension Field<Whisper2RecordError> {
    /// Returns a text of 1 to `limit` bytes without control characters.
    func text(limit: Int = 255) throws(Whisper2RecordError) -> String {
        try text { isWhisper2Text($0, limit: limit) ? $0 : nil }
    }

    func whisperID() throws(Whisper2RecordError) -> WhisperID { try text { WhisperID($0) } }
}

/// Whether a text has 1 to `limit` bytes and no control characters (C0, DEL or C1).
func isWhisper2Text(_ text: String, limit: Int = 255) -> Bool {
    !text.isEmpty && text.utf8.count <= limit
        && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
}
