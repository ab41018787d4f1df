/// Why a record is not a card that we trust.
public enum CardError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The signature is missing or does not belong to the id and this content.
    case signature
    /// An account in another messenger is not signed by that account's own key for this id.
    case profile
}

/// Somebody's public keys, for others to write to and to check.
///
/// A card read from a record is signed by the key in its id. One read from a ``ContactURI`` has the two
/// short keys and no signature: what vouches for it is how it came.
public struct Card: Sendable, Hashable {
    /// The self-certifying id.
    public let id: SessionID
    /// What the owner calls themselves; it proves nothing.
    public let name: String
    /// The X25519 age recipient, `age1…`.
    public let age: AgeX25519Recipient
    /// The post-quantum age recipient, `age1pq1…`; absent from a URI.
    public let hybrid: AgeHybridRecipient?
    /// Where the owner fetches mail, such as `tcp://relay.example.org:7667`.
    public let relay: String?
    /// Where mail goes that is written by whoever has this card, in place of the id: see ``SendAddress``.
    public let address: SessionID?
    /// The owner's accounts in other messengers.
    public let profiles: Profiles
    /// When it was signed, if it says so: of two cards in a directory the later one counts.
    public let issued: Timestamp?
    /// The signed record, with members that this version does not know; `nil` for a card from a URI.
    public let record: JSONObject?

    static func signed(
        by identity: Identity, relay: String?, profiles: Profiles, address: SessionID? = nil,
        issued: Timestamp? = nil
    ) -> Card {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("contact")),
            ("name", identity.name.isEmpty ? nil : .string(identity.name)),
            ("id", .string(identity.id.description)),
            ("age", .string(identity.ageKey.recipient.text)),
            ("pq", .string(identity.hybridKey.recipient.text)),
            ("relay", relay.map { .string($0) }),
            ("address", address.map { .string($0.description) }),
            ("profiles", profiles.isEmpty ? nil : .object(profiles.object)),
            ("issued", issued.map { .string($0.description) }),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        return Card(
            id: identity.id, name: identity.name, age: identity.ageKey.recipient,
            hybrid: identity.hybridKey.recipient, relay: relay, address: address,
            profiles: profiles, issued: issued, record: record)
    }

    private init(
        id: SessionID, name: String, age: AgeX25519Recipient, hybrid: AgeHybridRecipient?,
        relay: String?, address: SessionID?, profiles: Profiles, issued: Timestamp?,
        record: JSONObject?
    ) {
        self.id = id
        self.name = name
        self.age = age
        self.hybrid = hybrid
        self.relay = relay
        self.address = address
        self.profiles = profiles
        self.issued = issued
        self.record = record
    }

    /// Reads a contact record and verifies its signature.
    public init(record: JSONObject) throws(CardError) {
        guard record["type"]?.string == "contact" else { throw .member("type") }
        guard let version = record["v"]?.integer else { throw .member("v") }
        guard version == 1 else { throw .version(version) }
        guard let id = record["id"]?.string.flatMap({ SessionID($0) }) else { throw .member("id") }
        guard SignedRecord.verify(record, by: id.publicKey) else { throw .signature }
        guard let age = record["age"]?.string.flatMap({ AgeX25519Recipient($0) }) else {
            throw .member("age")
        }
        let hybrid = record["pq"]?.string.flatMap { AgeHybridRecipient($0) }
        guard record["pq"] == nil || hybrid != nil else { throw .member("pq") }
        for name in ["name", "relay"] {
            guard record[name] == nil || record[name]?.string != nil else { throw .member(name) }
        }
        let address = record["address"]?.string.flatMap { SessionID($0) }
        guard record["address"] == nil || address != nil else { throw .member("address") }
        let issued = record["issued"]?.string.flatMap { Timestamp($0) }
        guard record["issued"] == nil || issued != nil else { throw .member("issued") }
        var profiles = Profiles()
        if let value = record["profiles"] {
            guard let read = value.object.flatMap({ Profiles($0) }) else {
                throw .member("profiles")
            }
            guard read.areProven(for: id) else { throw .profile }
            profiles = read
        }
        self.init(
            id: id, name: record["name"]?.string ?? "", age: age, hybrid: hybrid,
            relay: record["relay"]?.string, address: address, profiles: profiles, issued: issued,
            record: record)
    }

    /// The card that a scanned URI describes.
    public init(uri: ContactURI) {
        self.init(
            id: uri.id, name: uri.name ?? "", age: AgeX25519Recipient(publicKey: uri.x25519),
            hybrid: nil, relay: uri.relay, address: nil, profiles: Profiles(), issued: nil,
            record: nil)
    }

    /// The short form.
    public var uri: ContactURI {
        ContactURI(id: id, x25519: age.publicKey, name: name.isEmpty ? nil : name, relay: relay)
    }

    /// The recipient that messages and files go to: post-quantum where the card has it and `classic` is not asked for.
    public func recipient(classic: Bool = false) -> AgeRecipient {
        if !classic, let hybrid { .hybrid(hybrid) } else { .x25519(age) }
    }
}
