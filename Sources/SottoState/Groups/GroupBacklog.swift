import Sotto

/// The changes that members with one place in the log lack. Changes and cards that are too long for messages are in a file.
struct GroupBacklog {
    /// The changes in messages, of all authors.
    let changes: [GroupChange]
    /// Those of them that go with the owner's cuts. The cards of newcomers among them come from those who let them in.
    let before: Set<GroupID>
    /// The file with the other changes and the cards of newcomers, or `nil` if messages are enough.
    let file: GroupFile?
}

/// The backlogs of a group: one for each place, because most members lack the same changes.
final class GroupBacklogs {
    /// The most bytes of changes and cards that a person gets in messages if they can be in a file.
    static let messageBytes = 16 << 10

    private struct Key: Hashable {
        let told: Int64
        let needsLog: Bool
    }

    private var known: [Key: GroupBacklog] = [:]

    /// Returns the backlog of a member. `make` makes it.
    func backlog(
        of note: GroupMemberNote, _ make: () throws(StateError) -> GroupBacklog
    ) throws(StateError) -> GroupBacklog {
        let key = Key(told: note.told, needsLog: note.needsLog)
        if let backlog = known[key] { return backlog }
        let backlog = try make()
        known[key] = backlog
        return backlog
    }
}

/// Files with changes and cards.
extension StateTransaction {
    /// Returns a file with changes and cards, or `nil` if messages are enough, or if the owner has no relay that keeps files.
    func file(
        of changes: [GroupChange], cards: [[UInt8]]
    ) throws(StateError) -> GroupFile? {
        let bytes = (changes.map(\.bytes.count) + cards.map(\.count)).reduce(0, +)
        guard bytes > GroupBacklogs.messageBytes, Int64(bytes) < GroupFile.limit,
            owner.relay != nil
        else { return nil }
        do {
            return try compose(fileOf: changes, cards: cards)
        } catch let error as StateError {
            throw error
        } catch {
            return nil
        }
    }

    /// Returns a file with changes and cards. Its blob is in the folder of composed blobs, without a place. The same content
    /// gives the same blob.
    func compose(fileOf changes: [GroupChange], cards: [[UInt8]]) throws -> GroupFile {
        let parents = Set(changes.flatMap(\.parents))
        let heads = changes.map(\.id).filter { !parents.contains($0) }
        var lines: [UInt8] = []
        for line in changes.map(\.bytes) + cards { lines += line + [UInt8(ascii: "\n")] }
        let digest = sha256(lines)
        let key = owner.derivedKey(info: "state/group-file/v1")
        func hash(_ label: String) -> [UInt8] { keyedHash(Array(label.utf8) + digest, key: key) }
        let (file, blob) = try GroupFile.seal(
            lines, heads: heads, key: hash("key 1 ") + hash("key 2 "), nonce: hash("nonce "))
        try store.blobs.keep(composed: blob, digest: file.pointer.digest)
        return file
    }
}
