public import Sotto

/// Somebody in the address book, under a name of ours.
public struct Contact: Sendable, Equatable {
    /// What we call them; empty for one who was only blocked. Unique without regard to case.
    public var name: String
    /// Whose key it is.
    public var id: SessionID
    /// Their card; `nil` while only messages of theirs are known.
    public var card: Card?
    /// ``Message/Trust/trusted`` since their key was first taken, ``Message/Trust/verified`` since it was compared.
    public var trust: Message.Trust
    /// Whether what they send is dropped.
    public var isBlocked = false
    /// The suite that was asked for; `nil` leaves it to what there is.
    public var suite: Suite?
    /// Accounts in other messengers that were learned from their own codes, and not from a card. They are introductions
    /// unless ``standing(of:)-(Whisper2Contact)`` is higher.
    public var learned = Profiles()
    /// The keys other than the id that were compared with their owner.
    public var compared = ComparedKeys()
    /// The address of ours that they alone were given.
    public var address: SendAddress?
    /// Those that they were given before, the newest first: what was fetched from there may not have been read yet.
    public private(set) var formerAddresses: [SendAddress] = []
    /// Another key that came under this name and was not accepted. Nothing is sent while it is here.
    public var changed: Card?
    /// When they were added.
    public let added: Timestamp

    /// The suites that can be set for a contact.
    public static let suites: Set<Suite> = [.sealed, .ratchet]

    /// The most former addresses that are kept.
    private static let formerLimit = 16

    /// The address, and the former ones.
    public var allAddresses: [SendAddress] { [address].compactMap(\.self) + formerAddresses }

    /// Gives them another address, or none.
    public mutating func replaceAddress(by new: SendAddress?) {
        formerAddresses = Array(allAddresses.prefix(Self.formerLimit))
        address = new
    }

    /// Takes the addresses of another entry of the same contact that this one does not have yet: what was sent there is
    /// fetched and can be read. An address that this one gave up stays given up.
    public mutating func takeAddresses(of other: Contact) {
        let own = Set(allAddresses)
        if own.isEmpty { address = other.address }
        let missing = other.allAddresses.filter { $0 != address && !own.contains($0) }
        formerAddresses = Array((formerAddresses + missing).prefix(Self.formerLimit))
    }

    /// The longest name, in bytes.
    public static let nameLimit = 128

    /// A contact, as it is when it is added.
    public init(
        name: String, id: SessionID, card: Card?, trust: Message.Trust = .trusted,
        added: Timestamp = .now()
    ) {
        self.name = name
        self.id = id
        self.card = card
        self.trust = trust
        self.added = added
    }

    /// The record: `{"v":1,"type":"contact-entry","name","id","trust","blocked","suite","added","profiles","compared",
    /// "address","formerAddresses","card","changed"}`. A card that came as a URI is a string in it; an address is its
    /// salt, which serves only with the identity.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("contact-entry")), ("name", .string(name)),
            ("id", .string(id.description)), ("trust", .string(trust.rawValue)),
            ("blocked", .bool(isBlocked)), ("suite", suite.map { .string($0.rawValue) }),
            ("added", .string(added.description)),
            ("profiles", learned.isEmpty ? nil : .object(learned.object)),
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
    }

    /// Reads a record; `nil` for one that is not of its form, or whose card's signature is wrong.
    public init?(record: JSONObject) {
        guard record["type"]?.string == "contact-entry", record["v"] == .integer(1),
            let name = record["name"]?.string, name.utf8.count <= Self.nameLimit,
            let id = record["id"]?.string.flatMap({ SessionID($0) }),
            let trust = record["trust"]?.string.flatMap({ Message.Trust(rawValue: $0) }),
            let added = record["added"]?.string.flatMap({ Timestamp($0) })
        else { return nil }
        self.init(name: name, id: id, card: nil, trust: trust, added: added)
        isBlocked = record["blocked"]?.bool ?? false
        if let text = record["suite"] {
            guard let suite = text.string.flatMap({ Suite(rawValue: $0) }) else { return nil }
            // Others cannot be set: a message must not go to another messenger's key without the sender's request.
            self.suite = Self.suites.contains(suite) ? suite : nil
        }
        if let value = record["profiles"] {
            guard let profiles = value.object.flatMap({ Profiles($0) }) else { return nil }
            learned = profiles
        }
        if let value = record["compared"] {
            guard let keys = ComparedKeys(value) else { return nil }
            compared = keys
        }
        func address(_ value: JSON) -> SendAddress? {
            value.string.flatMap { bytes(hex: $0) }.flatMap { SendAddress(salt: $0) }
        }
        if let value = record["address"] {
            guard let read = address(value) else { return nil }
            self.address = read
        }
        if let value = record["formerAddresses"] {
            guard let list = value.array else { return nil }
            formerAddresses = list.prefix(Self.formerLimit).compactMap(address)
        }
        if let value = record["card"] {
            guard let card = Self.card(value), card.id == id else { return nil }
            self.card = card
        }
        if let value = record["changed"] {
            guard let card = Self.card(value) else { return nil }
            changed = card
        }
    }

    /// Their accounts in other messengers: those on the card, and those that were learned where the card has none.
    public var profiles: Profiles {
        let signed = card?.profiles ?? Profiles()
        return Profiles(
            kecalek: signed.kecalek ?? learned.kecalek,
            whisper2: signed.whisper2 ?? learned.whisper2,
            mercurio: signed.mercurio ?? learned.mercurio)
    }

    private static func json(_ card: Card) -> JSON {
        card.record.map { .object($0) } ?? .string(card.uri.text)
    }

    private static func card(_ value: JSON) -> Card? {
        switch value {
        case .object(let record): try? Card(record: record)
        case .string(let text): (try? ContactURI(text)).map { Card(uri: $0) }
        default: nil
        }
    }

    /// Whether another card of the same id says the same of its keys. The signature on a card vouches for what
    /// is in it; what vouched for a URI was how it came. An account that was only introduced is not compared.
    public func agrees(with card: Card) -> Bool {
        guard card.id == id else { return false }
        guard vouchedProfiles.agree(with: card.profiles) else { return false }
        guard let own = self.card else { return true }
        return own.age == card.age
            && (own.hybrid == nil || card.hybrid == nil || own.hybrid == card.hybrid)
    }

    /// Whether two contacts are the same in all that is kept.
    public static func == (a: Contact, b: Contact) -> Bool { a.record == b.record }
}
