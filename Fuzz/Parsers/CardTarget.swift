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

    /// A list of devices, unchanged and with a new signature. A device that the reader's key signed stands in it too.
    static let devices = FuzzTarget("devices") { bytes in
        guard var record = object(bytes) else { return }
        readList(record)
        record["id"] = .string(reader.id.description)
        SignedRecord.sign(&record, with: reader.signingKey)
        readList(record)
    }

    private static func readList(_ record: JSONObject) {
        guard let list = try? DeviceList(record: record) else { return }
        precondition(list.record == record)
        precondition(list.devices.count <= DeviceList.mostDevices)
        precondition(list.devices.allSatisfy { $0.card.owner == list.owner })
        precondition((try? DeviceList(stored: record)) == list)
    }

    private static func read(_ record: JSONObject) {
        guard let card = try? Card(record: record) else { return }
        precondition(card.record == record)
        _ = card.recipient().text
        precondition((try? ContactURI(card.uri.text)) == card.uri)
    }
}
