import Sotto

extension FuzzTarget {
    /// The record of a room, the secret keys of a room, and the content of a record. A content that is read is published and
    /// read back unchanged.
    static let room = FuzzTarget("room") { bytes in
        if let object = object(bytes) {
            if let record = try? RoomRecord(record: object) {
                precondition(record.record == object)
                _ = try? door.open(record)
            }
            if let keys = try? RoomKeys(object) {
                precondition((try? RoomKeys(keys.object))?.object == keys.object)
            }
        }
        guard let content = try? RoomContent(bytes) else { return }
        precondition((try? RoomContent(content.bytes))?.bytes == content.bytes)
        let record = keys.record(content, seq: 1, issued: Timestamp(seconds: 0))
        guard let read = try? RoomRecord(record: record), let opened = try? door.open(read) else {
            preconditionFailure("a published content is not read")
        }
        precondition(opened.bytes == content.bytes)
    }

    /// The door of the first vector in room.json.
    private static let door = RoomDoor(
        root: SecretBytes(
            copying: bytes(
                hex: "75e90f812a2e2d4e49162b20ac5bfe4f877401f15e937da17ed1429350770738")!))
    private static let keys = RoomKeys(door, relay: "tls://relay.example.org")
}
