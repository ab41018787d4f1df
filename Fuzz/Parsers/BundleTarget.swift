import Sotto

extension FuzzTarget {
    /// A prekey bundle or a prekey publication, unchanged and with new signatures, without which mutations would fail
    /// the signature check. A record that is read is written and read back unchanged.
    static let bundle = FuzzTarget("bundle") { bytes in
        guard var record = object(bytes) else { return }
        read(record)
        signPreKeys(&record)
        read(record)
    }

    /// Signs the prekeys and the record around them with the identity of the inputs.
    static func signPreKeys(_ record: inout JSONObject) {
        let key = JSON.string(Base64.standard.encode(reader.signingKey.publicKey))
        if record["identityKey"] != nil { record["identityKey"] = key }
        if record["userId"] != nil { record["userId"] = .string(reader.id.description) }
        record["id"] = .string(reader.id.description)
        sign(&record, "signedPreKey", label: "")
        sign(&record, "pqSignedPreKey", label: "ratchet/pqspk/v1\0")
        signPair(&record)
        SignedRecord.sign(&record, with: reader.signingKey)
    }

    /// Signs both prekeys together if the record has such a signature.
    private static func signPair(_ record: inout JSONObject) {
        guard var pair = record["pairSignature"]?.object,
            let time = pair["time"]?.string.flatMap({ Timestamp($0) })
        else { return }
        var message = Array("ratchet/prekeys/v1\0".utf8)
        message += UInt64(max(0, time.seconds)).bigEndianBytes
        for name in ["signedPreKey", "pqSignedPreKey"] {
            guard let preKey = record[name]?.object,
                let id = preKey["id"]?.integer.flatMap({ UInt32(exactly: $0) }),
                let key = preKey["key"]?.string.flatMap({ Base64.standard.decode($0) })
            else { return }
            message += id.bigEndianBytes + key
        }
        pair["signature"] = .string(Base64.standard.encode(reader.signingKey.sign(message)))
        record["pairSignature"] = .object(pair)
    }

    private static func read(_ record: JSONObject) {
        if let bundle = try? PreKeyBundle(record: record) {
            precondition((try? PreKeyBundle(record: bundle.record)) == bundle)
        }
        if let publication = try? PreKeyPublication(record: record) {
            precondition((try? PreKeyPublication(record: publication.record)) == publication)
            guard let bundle = try? publication.bundle(oneTime: publication.oneTimePreKeys.first)
            else { preconditionFailure("a publication gives no bundle") }
            precondition((try? PreKeyBundle(record: bundle.record)) == bundle)
        }
    }

    /// Signs a prekey and its date.
    private static func sign(_ record: inout JSONObject, _ name: String, label: String) {
        guard var preKey = record[name]?.object,
            let key = preKey["key"]?.string.flatMap({ Base64.standard.decode($0) })
        else { return }
        func signature(_ message: [UInt8]) -> JSON {
            .string(Base64.standard.encode(reader.signingKey.sign(message)))
        }
        preKey["signature"] = signature(Array(label.utf8) + key)
        if let time = preKey["time"]?.string.flatMap({ Timestamp($0) }),
            let id = preKey["id"]?.integer.flatMap({ UInt32(exactly: $0) })
        {
            preKey["timeSignature"] = signature(
                Array("ratchet/spkdate/v1\0".utf8) + UInt64(max(0, time.seconds)).bigEndianBytes
                    + id.bigEndianBytes + key)
        }
        record[name] = .object(preKey)
    }
}
