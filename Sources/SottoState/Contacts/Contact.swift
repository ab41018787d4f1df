public import Sotto

/// An entry of the address book.
public struct Contact: Sendable, Equatable {
    /// The name that the user gave the contact; empty for a contact that was only blocked. Unique, ignoring case.
    public var name: String
    /// The contact's session id, which is its identity key.
    public var id: KeyID
    /// The contact's card; `nil` if only messages of the contact are known.
    public var card: Card?
    /// ``Message/Trust/trusted`` after the key was first accepted, ``Message/Trust/verified`` after it was compared.
    public var trust: Message.Trust
    /// Whether messages of the contact are dropped.
    public var isBlocked = false
    /// The suite that the user set; `nil` selects it automatically.
    public var suite: Suite?
    /// Whether the contact gets receipts for messages that were decrypted or read here.
    public var getsReceipts = false
    /// Whether the contact gets signals that the user types.
    public var getsTyping = false
    /// Whether the contact gets signals that the user is online.
    public var getsPresence = false
    /// The parts of the owner's profile that this contact sees, of ``detailParts``. Every contact sees the other parts.
    public var seenDetails: Set<OwnerProfile.Part> = []
    /// Whether messages are sent again without a question after the contact lost a state. A changed key ends it.
    public var getsRepeats = false
    /// Accounts in other messengers, learned from the messengers' own codes and not from a card, by the messengers'
    /// names. The state does not interpret them.
    public var accounts = JSONObject()
    /// The keys, other than the id, that were compared with their owner.
    public var compared = ComparedKeys()
    /// Our send address that only this contact was given.
    public var address: SendAddress?
    /// Our earlier addresses for this contact, the newest first. Envelopes fetched from them may not have been read
    /// yet.
    public private(set) var formerAddresses: [SendAddress] = []
    /// A different key that arrived under this name and was not accepted. Nothing is sent to the contact while it is
    /// set.
    public var changed: Card?
    /// The id whose succession was the reason to accept this key, until the key is compared.
    public var former: KeyID?
    /// The reason for which nothing is sent to the key.
    public var doubt: Doubt?
    /// When the contact was added.
    public let added: Timestamp

    /// A reason to send nothing to a key, until another one is accepted or, except for a revoked one, it is compared.
    public enum Doubt: String, Sendable {
        /// Its owner revoked it.
        case revoked
        /// It was accepted because of a succession by an id that is revoked now.
        case void
        /// It was accepted because of a succession, and the old key signed another one too.
        case fork
    }

    /// The parts of the owner's profile that only some contacts see.
    public static let detailParts: Set<OwnerProfile.Part> = [.phone, .location]

    /// The suites that can be set for a contact.
    public static let suites: Set<Suite> = [.sealed, .ratchet]

    /// The maximum number of earlier addresses that are kept.
    private static let formerLimit = 16

    /// The address, and the earlier ones.
    public var allAddresses: [SendAddress] { [address].compactMap(\.self) + formerAddresses }

    /// Replaces the contact's address, or removes it.
    public mutating func replaceAddress(by new: SendAddress?) {
        formerAddresses = Array(allAddresses.prefix(Self.formerLimit))
        address = new
    }

    /// Adds the addresses of another entry of the same contact that this one does not have yet, so that envelopes sent
    /// to them can be fetched and read. An address that this entry replaced stays an earlier one.
    public mutating func takeAddresses(of other: Contact) {
        let own = Set(allAddresses)
        if own.isEmpty { address = other.address }
        let missing = other.allAddresses.filter { $0 != address && !own.contains($0) }
        formerAddresses = Array((formerAddresses + missing).prefix(Self.formerLimit))
    }

    /// The maximum length of a name in bytes.
    public static let nameLimit = 128

    /// Creates a contact as it is when it is added.
    public init(
        name: String, id: KeyID, card: Card?, trust: Message.Trust = .trusted,
        added: Timestamp = .now()
    ) {
        self.name = name
        self.id = id
        self.card = card
        self.trust = trust
        self.added = added
    }

    /// The record: `{"v":1,"type":"contact-entry","name","id","trust","blocked","suite","receipts","typing",
    /// "presence","seenDetails","repair","added","profiles","compared","address","formerAddresses","card","changed","former","doubt"}`. A card that was given as
    /// a URI is a string; an address is its salt, which is useless without the identity.
    public var record: JSONObject {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("contact-entry")), ("name", .string(name)),
            ("id", .string(id.description)), ("trust", .string(trust.rawValue)),
            ("blocked", .bool(isBlocked)), ("suite", suite.map { .string($0.rawValue) }),
            ("receipts", getsReceipts ? .bool(true) : nil),
            ("typing", getsTyping ? .bool(true) : nil),
            ("presence", getsPresence ? .bool(true) : nil),
            (
                "seenDetails",
                seenDetails.isEmpty
                    ? nil : .array(seenDetails.map(\.rawValue).sorted().map { .string($0) })
            ),
            ("repair", getsRepeats ? .string("auto") : nil),
            ("added", .string(added.description)),
            ("profiles", accounts.members.isEmpty ? nil : .object(accounts)),
            ("compared", compared.isEmpty ? nil : compared.json),
            ("address", address.map { .string(hex($0.salt)) }),
            (
                "formerAddresses",
                formerAddresses.isEmpty
                    ? nil : .array(formerAddresses.map { .string(hex($0.salt)) })
            ),
            ("card", card.map(Self.json)),
            ("changed", changed.map(Self.json)),
        ])
        record["former"] = former.map { .string($0.description) }
        record["doubt"] = doubt.map { .string($0.rawValue) }
        return record
    }

    /// Reads a record. Returns `nil` if it is malformed or its card has a wrong signature.
    public init?(record: JSONObject) {
        do throws(FieldError) { try self.init(Fields(record)) } catch { return nil }
    }

    /// Reads a record whose cards were verified before it was stored. Returns `nil` if it is malformed.
    init?(stored record: JSONObject) {
        do throws(FieldError) {
            try self.init(Fields(record), isVerified: true)
        } catch {
            return nil
        }
    }

    private init(
        _ fields: Fields<FieldError>, isVerified: Bool = false
    ) throws(FieldError) {
        try fields.header("contact-entry")
        self.init(
            name: try fields["name"].text { $0.utf8.count <= Self.nameLimit ? $0 : nil },
            id: try fields["id"].keyID(), card: nil,
            trust: try fields["trust"].text { Message.Trust(rawValue: $0) },
            added: try fields["added"].time())
        isBlocked = try fields["blocked"].optional?.bool() ?? false
        suite = try fields["suite"].optional?.text { name in
            Self.suites.first { $0.rawValue == name }
        }
        getsReceipts = try fields["receipts"].optional?.bool() ?? false
        getsTyping = try fields["typing"].optional?.bool() ?? false
        getsPresence = try fields["presence"].optional?.bool() ?? false
        let seen = try fields["seenDetails"].optional?.list {
            (field) throws(FieldError) in
            try field.text { name in Self.detailParts.first { $0.rawValue == name } }
        }
        seenDetails = Set(seen ?? [])
        getsRepeats = try fields["repair"].optional?.text { $0 == "auto" ? true : nil } ?? false
        accounts = try fields["profiles"].optional?.object() ?? JSONObject()
        compared = try fields["compared"].optional?.value { ComparedKeys($0) } ?? ComparedKeys()
        address = try fields["address"].optional?.value(Self.address)
        let former = try fields["formerAddresses"].optional?.list {
            (field) throws(FieldError) in try field.value(Self.address)
        }
        formerAddresses = Array((former ?? []).prefix(Self.formerLimit))
        card = try fields["card"].optional?.value { Self.card($0, isVerified) }
        guard card == nil || card?.id == id else { throw .member("card") }
        changed = try fields["changed"].optional?.value { Self.card($0, isVerified) }
        self.former = try fields["former"].optional?.keyID()
        doubt = try fields["doubt"].optional?.text { Doubt(rawValue: $0) }
    }

    private static func address(_ value: JSON) -> SendAddress? {
        value.string.flatMap { bytes(hex: $0) }.flatMap { SendAddress(salt: $0) }
    }

    private static func json(_ card: Card) -> JSON {
        card.record.map { .object($0) } ?? .string(card.uri.text)
    }

    private static func card(_ value: JSON, _ isVerified: Bool) -> Card? {
        switch value {
        case .object(let record):
            try? isVerified ? Card(stored: record) : Card(record: record)
        case .string(let text): (try? ContactURI(text)).map { Card(uri: $0) }
        default: nil
        }
    }

    /// Returns whether another card of the same id has the same encryption keys. The signature on a card authenticates
    /// its content; a URI was authenticated by the way it was received. Accounts are not compared.
    public func hasKeys(of card: Card) -> Bool {
        guard card.id == id else { return false }
        guard let own = self.card else { return true }
        return own.age == card.age
            && (own.hybrid == nil || card.hybrid == nil || own.hybrid == card.hybrid)
    }

    /// Returns whether a card is signed by the contact's key, or has the encryption key that was compared.
    public func vouches(for card: Card) -> Bool {
        guard card.id == id else { return false }
        if card.record != nil || compared.contains(card.age) { return true }
        guard let own = self.card else { return false }
        return own.record != nil && own.age == card.age
    }

    /// Stores a card, and deletes the learned accounts of the messengers that the card names.
    public mutating func keep(_ card: Card) {
        self.card = card
        for (name, _) in card.accounts.members { accounts[name] = nil }
    }

    /// Returns whether two contacts have the same record.
    public static func == (a: Contact, b: Contact) -> Bool { a.record == b.record }
}
