import Sotto

/// A strict reader of the members of a Whisper2 record.
struct Whisper2Members {
    let record: JSONObject

    /// Requires version 1 in `protocolVersion` and `cryptoVersion`.
    func requireVersions() throws(Whisper2RecordError) {
        for name in ["protocolVersion", "cryptoVersion"] {
            guard let version = record[name]?.integer else { throw .member(name) }
            guard version == 1 else { throw .version(version) }
        }
    }

    /// Returns a text of 1 to `limit` bytes without control characters.
    func text(_ name: String, limit: Int = 255) throws(Whisper2RecordError) -> String {
        guard let text = record[name]?.string, Self.isField(text, limit: limit) else {
            throw .member(name)
        }
        return text
    }

    /// Returns a UUID in lower case.
    func uuid(_ name: String) throws(Whisper2RecordError) -> String {
        guard let text = record[name]?.string, Envelope.isID(text) else { throw .member(name) }
        return text
    }

    func whisperID(_ name: String) throws(Whisper2RecordError) -> WhisperID {
        guard let id = record[name]?.string.flatMap({ WhisperID($0) }) else { throw .member(name) }
        return id
    }

    /// Returns bytes in canonical base64 whose length `isCount` accepts.
    func bytes(
        _ name: String, where isCount: (Int) -> Bool
    ) throws(Whisper2RecordError) -> [UInt8] {
        guard let bytes = record[name]?.string.flatMap({ Base64.standard.decode($0) }),
            isCount(bytes.count)
        else { throw .member(name) }
        return bytes
    }

    /// Returns an integer that a double represents exactly.
    func integer(_ name: String) throws(Whisper2RecordError) -> Int64 {
        guard let value = record[name]?.integer, Whisper2Frame.times.contains(value) else {
            throw .member(name)
        }
        return value
    }

    /// Returns a member, or `nil` if it is absent or null.
    func optional(_ name: String) -> JSON? { record[name] == .null ? nil : record[name] }

    /// Whether a text has 1 to `limit` bytes and no control characters (C0, DEL or C1).
    static func isField(_ text: String, limit: Int = 255) -> Bool {
        !text.isEmpty && text.utf8.count <= limit
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
