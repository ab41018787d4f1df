public import Sotto

/// The keys, other than the id, that the user compared with the contact.
///
/// Each key is stored as a text that names exactly this key, so a replacement key does not count as compared.
public struct ComparedKeys: Sendable, Equatable {
    /// The texts.
    public private(set) var texts: Set<String> = []

    /// The maximum number of texts that are read.
    static let limit = 64

    /// No keys.
    public init() {}

    /// Reads the array of a record. Returns `nil` if it is malformed.
    init?(_ value: JSON) {
        guard let list = value.array, list.count <= Self.limit else { return nil }
        for item in list {
            guard let text = item.string, text.utf8.count <= 512 else { return nil }
            texts.insert(text)
        }
    }

    /// The texts as a JSON array, sorted, for a record.
    var json: JSON { .array(texts.sorted().map { .string($0) }) }

    /// Whether no key was compared.
    public var isEmpty: Bool { texts.isEmpty }

    /// Adds the X25519 key of a card that is not signed.
    public mutating func insert(_ key: AgeX25519Recipient) { texts.insert(key.text) }

    /// Adds a text that names a key.
    package mutating func insert(text: String) { texts.insert(text) }

    /// Returns whether this key was compared.
    public func contains(_ key: AgeX25519Recipient) -> Bool { texts.contains(key.text) }
}
