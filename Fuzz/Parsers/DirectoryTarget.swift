import Sotto
import SottoWire

extension FuzzTarget {
    /// What an owner gives to a relay: a card, a word on a login key or prekeys, as it is and signed anew. What is
    /// read is handed out in a form that is read as the same.
    static let directory = FuzzTarget("directory") { bytes in
        guard var record = object(bytes) else { return }
        take(record)
        record["id"] = .string(reader.id.description)
        SignedRecord.sign(&record, with: reader.signingKey)
        take(record)
        signPreKeys(&record)
        take(record)
    }

    private static func take(_ record: JSONObject) {
        if let record = try? OwnersRecord(record) {
            precondition(object(record.bytes).map { try? OwnersRecord($0) } == record)
        }
        if let published = try? PublishedPreKeys(record) {
            precondition(object(published.bytes).map { try? PublishedPreKeys($0) } == published)
        }
    }
}
