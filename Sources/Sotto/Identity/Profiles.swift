/// A messenger whose own keys an identity has too, from the same words.
public enum Profile: String, Sendable, CaseIterable {
    /// A user's id beside the identity key, which is the identity's own Ed25519 key.
    case kecalek
    /// An id that the server gave, and two keys.
    case whisper2
    /// A Session ID of its own, and an RSA key.
    case mercurio
}

/// What somebody is in other messengers: public keys, pinned by whoever keeps them.
///
/// In a card they are signed with everything else; learned from a messenger's own code they stand for what that
/// code was worth.
public struct Profiles: Sendable, Hashable {
    /// The user's id in Kecalek and Message Flow, 1 to 255 bytes; the key is the identity's.
    public var kecalek: String?
    /// The Whisper2 account.
    public var whisper2: Whisper2Contact?
    /// The Mercurio account, its RSA key signed by its Session ID.
    public var mercurio: MercurioKeyBundle?

    /// No profile, or these.
    public init(
        kecalek: String? = nil, whisper2: Whisper2Contact? = nil,
        mercurio: MercurioKeyBundle? = nil
    ) {
        self.kecalek = kecalek
        self.whisper2 = whisper2
        self.mercurio = mercurio
    }

    /// Whether there is none.
    public var isEmpty: Bool { kecalek == nil && whisper2 == nil && mercurio == nil }

    /// Whether no account has other keys, or another name, in both.
    public func agree(with other: Profiles) -> Bool {
        func isSame<T: Equatable>(_ a: T?, _ b: T?) -> Bool { a == nil || b == nil || a == b }
        return isSame(kecalek, other.kecalek) && isSame(whisper2, other.whisper2)
            && isSame(mercurio?.id, other.mercurio?.id)
            && isSame(mercurio?.key, other.mercurio?.key)
    }

    /// The object in a card: `{"kecalek":{"userId"},"whisper2":{"id","key","skey"},"mercurio":{…}}`, the last a
    /// ``MercurioKeyBundle``.
    public var object: JSONObject {
        JSONObject([
            ("kecalek", kecalek.map { .object(["userId": .string($0)]) }),
            ("whisper2", whisper2.map { .object(Self.object($0)) }),
            ("mercurio", mercurio.map { .object($0.record) }),
        ])
    }

    private static func object(_ contact: Whisper2Contact) -> JSONObject {
        JSONObject([
            ("id", .string(contact.id.description)),
            ("key", .string(Base64.standard.encode(contact.encryptionKey))),
            ("skey", contact.signingKey.map { .string(Base64.standard.encode($0)) }),
        ])
    }

    /// Reads the object and verifies what is signed in it; `nil` for one that is not of its form. Other messengers'
    /// members are ignored.
    public init?(_ object: JSONObject) {
        if let value = object["kecalek"] {
            guard let id = value.object?["userId"]?.string, (1...255).contains(id.utf8.count) else {
                return nil
            }
            kecalek = id
        }
        if let value = object["whisper2"] {
            guard let contact = value.object.flatMap(Self.whisper2) else { return nil }
            whisper2 = contact
        }
        if let value = object["mercurio"] {
            guard let record = value.object, let bundle = try? MercurioKeyBundle(record: record)
            else { return nil }
            mercurio = bundle
        }
    }

    private static func whisper2(_ object: JSONObject) -> Whisper2Contact? {
        func key(_ name: String) -> [UInt8]? {
            object[name]?.string.flatMap { Base64.standard.decode($0) }
                .flatMap { $0.count == 32 ? $0 : nil }
        }
        guard let id = object["id"]?.string.flatMap({ WhisperID($0) }), let box = key("key"),
            !X25519.isLowOrder(box)
        else { return nil }
        let signing = key("skey")
        guard object["skey"] == nil || signing.flatMap(x25519PublicKey(fromEd25519:)) != nil
        else { return nil }
        return Whisper2Contact(id: id, encryptionKey: box, signingKey: signing)
    }
}
