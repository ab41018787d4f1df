import Sotto

extension FuzzTarget {
    /// A card, unchanged and with a new signature, without which mutations would fail the signature check.
    static let card = FuzzTarget("card") { bytes in
        guard var record = object(bytes) else { return }
        read(record)
        record["id"] = .string(reader.id.description)
        SignedRecord.sign(&record, with: reader.signingKey)
        read(record)
    }

    private static func read(_ record: JSONObject) {
        guard let card = try? Card(record: record) else { return }
        precondition(card.record == record)
        _ = card.recipient().text
        precondition((try? ContactURI(card.uri.text)) == card.uri)
    }
}
