/// Signatures over records: Ed25519 over
/// `"sotto/record/v1\0" ‖ type ‖ "\0" ‖` the record's canonical JSON (RFC 8785) without its `sig`.
package enum SignedRecord {
    /// Adds `sig`, and replaces an existing one.
    package static func sign(_ record: inout JSONObject, with key: SigningKey) {
        record["sig"] = nil
        record["sig"] = .base64(key.sign(message(record)))
    }

    /// Whether the record has a signature by `publicKey` (32 bytes) over all of its other members.
    package static func verify(_ record: JSONObject, by publicKey: [UInt8]) -> Bool {
        guard let signature = try? Fields<FieldError>(record)["sig"].bytes() else { return false }
        var unsigned = record
        unsigned["sig"] = nil
        return verifySignature(signature, of: message(unsigned), by: publicKey)
    }

    private static func message(_ record: JSONObject) -> [UInt8] {
        Array("sotto/record/v1\0".utf8) + Array((record["type"]?.string ?? "").utf8) + [0]
            + JSON.object(record).canonical()
    }
}
