public import Sotto
import SottoDatabase

/// The chats whose keys the state has.
extension IdentityStore {
    /// Returns the secret records of the chats, by name. Members that ``Chat`` does not know are in them too.
    public func chats() throws(StateError) -> [JSONObject] {
        try use { connection throws(StateError) in try chats(connection) }
    }

    fileprivate func chats(_ connection: StateConnection) throws(StateError) -> [JSONObject] {
        try connection.rows("SELECT mark, sealed FROM chat") {
            row throws(StateError) -> (name: String, record: JSONObject)? in
            let (mark, sealed) = (row.bytes(0), row.bytes(1))
            return try readable(.chat, mark) { () throws(StateError) in
                var bytes = try unseal(sealed, .chat(mark: mark))
                defer { wipe(&bytes) }
                guard let record = try? JSON.object(parsing: bytes),
                    let chat = try? Chat(record: record)
                else { throw .unsealable(path: database.path) }
                return (chat.name, record)
            }
        }.compactMap(\.self).sorted { $0.name < $1.name }.map(\.record)
    }

    /// Returns the keyed hash of a chat, 16 bytes.
    fileprivate func mark(_ chat: Chat) -> [UInt8] {
        keyedHash(Array("chat ".utf8) + chat.phrase.id, key: lookupKey)
    }
}

extension StateTransaction {
    /// Returns the secret records of the chats, by name.
    public func chats() throws(StateError) -> [JSONObject] { try store.chats(connection) }

    /// Stores the secret record of a chat, in place of an earlier one of this chat. A member that only the earlier one has, such
    /// as the key of another messenger's form, stays.
    ///
    /// Throws ``ChatError`` for a malformed record.
    public func keep(chat record: JSONObject) throws {
        let chat = try Chat(record: record)
        var merged = try chats().first { $0["id"] == record["id"] } ?? JSONObject()
        for (name, value) in record.members { merged[name] = value }
        var bytes = merged.serialized()
        defer { wipe(&bytes) }
        let mark = store.mark(chat)
        try connection.run(
            """
            INSERT INTO chat (mark, sealed) VALUES (?, ?)
            ON CONFLICT (mark) DO UPDATE SET sealed = excluded.sealed
            """, mark, store.seal(bytes, .chat(mark: mark)))
    }

    /// Stores the chat of a backup, unless this chat is here or another chat has its name. Returns whether it was stored.
    public func restore(chat record: JSONObject) throws -> Bool {
        let chat = try Chat(record: record)
        let isKnown = try chats().contains { known in
            known["id"] == record["id"]
                || NameRule.areSame(known["name"]?.string ?? "", chat.name)
        }
        guard !isKnown else { return false }
        try keep(chat: record)
        return true
    }

    /// Deletes the keys of a chat. Its messages stay.
    public func forget(chat record: JSONObject) throws {
        try connection.run(
            "DELETE FROM chat WHERE mark = ?", store.mark(Chat(record: record)))
    }
}
