/// A reason to refuse a record as a card.
public enum CardError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The signature is missing or does not belong to the id and this content.
    case signature
    /// The record as a whole is not in the form of a card.
    case form(RecordFormError)
}

/// The public keys of a contact, for encrypting to them and verifying their signatures.
///
/// A card from a record is signed by the key in its id. A card from a ``ContactURI`` has the two short keys and no
/// signature: it is as trustworthy as the channel over which it came.
public struct Card: Sendable, Hashable {
    /// The self-certifying id.
    public let id: KeyID
    /// The name that the owner chose. It proves nothing.
    public let name: String
    /// The X25519 age recipient, `age1…`.
    public let age: AgeX25519Recipient
    /// The post-quantum age recipient, `age1pq1…`, or `nil` for a card from a URI.
    public let hybrid: AgeHybridRecipient?
    /// The address of the relay where the owner fetches mail, such as `tcp://relay.example.org:7667`.
    public let relay: String?
    /// The mailbox to which the holder of this card sends mail, in place of the id: see ``SendAddress``.
    public let address: KeyID?
    /// The person whose device has this card, or `nil` if the card is a person's. See ``DeviceList``.
    public let owner: KeyID?
    /// The owner's devices without the first one, or `nil` if the card names none.
    public let devices: DeviceList?
    /// The owner's accounts in other messengers, as the member `profiles` of the signed record. The core interprets only
    /// their ids, see ``accountNames``, and **does not verify that the accounts belong to the owner**.
    public let accounts: JSONObject
    /// The time of the signature, if the card has one. A directory keeps the later of two cards.
    public let issued: Timestamp?
    /// The signed record, including members that this version does not know, or `nil` for a card from a URI.
    public let record: JSONObject?

    static func signed(
        by identity: Identity, relay: String?, accounts: JSONObject, address: KeyID? = nil,
        issued: Timestamp? = nil, devices: DeviceList? = nil
    ) -> Card {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("contact")),
            ("name", identity.name.isEmpty ? nil : .string(identity.name)),
            ("id", .string(identity.device.description)),
            ("owner", identity.owner.map { .string($0.description) }),
            ("age", .string(identity.ageKey.recipient.text)),
            ("pq", .string(identity.hybridKey.recipient.text)),
            ("relay", relay.map { .string($0) }),
            ("address", address.map { .string($0.description) }),
            ("profiles", accounts.members.isEmpty ? nil : .object(accounts)),
            ("issued", issued.map { .string($0.description) }),
            ("devices", devices.map { .object($0.record) }),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        return Card(
            id: identity.device, name: identity.name, age: identity.ageKey.recipient,
            hybrid: identity.hybridKey.recipient, relay: relay, address: address,
            owner: identity.owner, devices: devices, accounts: accounts, issued: issued,
            record: record)
    }

    private init(
        id: KeyID, name: String, age: AgeX25519Recipient, hybrid: AgeHybridRecipient?,
        relay: String?, address: KeyID?, owner: KeyID? = nil,
        devices: DeviceList? = nil, accounts: JSONObject, issued: Timestamp?, record: JSONObject?
    ) {
        self.id = id
        self.name = name
        self.age = age
        self.hybrid = hybrid
        self.relay = relay
        self.address = address
        self.owner = owner
        self.devices = devices
        self.accounts = accounts
        self.issued = issued
        self.record = record
    }

    /// Reads a contact record and verifies its form and its signature.
    public init(record: JSONObject) throws(CardError) {
        do throws(RecordFormError) {
            try RecordForm.card.canonical(record)
        } catch {
            throw .form(error)
        }
        try self.init(record, isVerified: false)
        guard SignedRecord.verify(record, by: id.publicKey) else { throw .signature }
    }

    /// Reads a contact record whose signature was verified before it was stored.
    package init(stored record: JSONObject) throws(CardError) {
        try self.init(record, isVerified: true)
    }

    private init(_ record: JSONObject, isVerified: Bool) throws(CardError) {
        let fields = Fields<CardError>(record)
        try fields.header("contact")
        let address = try fields["address"].optional?.keyID()
        // Nobody can log in to a mailbox whose id is no key.
        if let address, !isEd25519Key(address.publicKey) { throw .member("address") }
        let id = try fields["id"].keyID()
        let owner = try fields["owner"].optional?.keyID()
        guard owner != id else { throw .member("owner") }
        let devices = try fields["devices"].optional?.value {
            $0.object.flatMap {
                try? isVerified ? DeviceList(stored: $0) : DeviceList(record: $0)
            }
        }
        // A device has no devices, and a list is its owner's.
        guard devices == nil || devices?.owner == id && owner == nil else {
            throw .member("devices")
        }
        self.init(
            id: id, name: try fields["name"].optional?.text() ?? "",
            age: try fields["age"].text { AgeX25519Recipient($0) },
            hybrid: try fields["pq"].optional?.text { AgeHybridRecipient($0) },
            relay: try fields["relay"].optional?.text(),
            address: address, owner: owner, devices: devices,
            accounts: try fields["profiles"].optional?.object() ?? JSONObject(),
            issued: try fields["issued"].optional?.time(), record: record)
    }

    /// Creates the unsigned card that a scanned URI describes.
    public init(uri: ContactURI) {
        self.init(
            id: uri.id, name: uri.name ?? "", age: AgeX25519Recipient(publicKey: uri.x25519),
            hybrid: nil, relay: uri.relay, address: nil, accounts: JSONObject(), issued: nil,
            record: nil)
    }

    /// The short form of the card.
    public var uri: ContactURI {
        ContactURI(id: id, x25519: age.publicKey, name: name.isEmpty ? nil : name, relay: relay)
    }

    /// Returns the recipient for messages and files: the post-quantum one if the card has it and `classic` is false.
    public func recipient(classic: Bool = false) -> AgeRecipient {
        if !classic, let hybrid { .hybrid(hybrid) } else { .x25519(age) }
    }
}
