import Sotto

extension FuzzTarget {
    /// A card, as it is and signed anew, or no change would come past the signature.
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
