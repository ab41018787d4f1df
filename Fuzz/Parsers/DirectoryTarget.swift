import Sotto
import SottoWire

extension FuzzTarget {
    /// A record that an owner publishes at a relay: a card, a login key record or prekeys, unchanged and with new
    /// signatures. The relay's output of a record that is read is read back unchanged.
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
