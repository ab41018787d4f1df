/// A reason to refuse a record as a list of devices.
public enum DeviceListError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The signature is missing or does not belong to the owner and this content.
    case signature
    /// The record as a whole is not in the form of a list.
    case form(RecordFormError)
    /// The list has more than ``DeviceList/mostDevices`` devices.
    case tooMany(limit: Int)
}

/// The devices of a person without the first one, signed by the person's identity:
/// `{"v":1,"type":"devices","id","seq","issued","devices":[{"card","name","added","state"}],"private","sig"}`.
/// sotto-formats(5), DEVICES.
///
/// The first device has the identity itself, so that the list does not name it. Every other device is an identity of its own.
/// Its card has the member `owner`, so that nobody can list the device of somebody else.
public struct DeviceList: Sendable {
    /// The rights of a device.
    public enum State: String, Sendable {
        /// It gets new mail and the names of the owner's contacts. It is not trusted with the rest yet.
        case new
        /// It gets everything.
        case full
    }

    /// A device.
    public struct Device: Sendable {
        /// The device's own signed card, whose ``Card/owner`` is the owner of the list.
        public let card: Card
        /// The name that the owner chose, 1 to ``DeviceList/nameBytes`` bytes of UTF-8 that can be shown.
        public var name: String
        /// When the owner added it.
        public let added: Timestamp
        /// The rights of the device.
        public var state: State

        /// Creates an entry for a list.
        public init(card: Card, name: String, added: Timestamp, state: State) {
            (self.card, self.name, self.added, self.state) = (card, name, added, state)
        }

        /// The id of the device, which is its mailbox.
        public var id: KeyID { card.id }
    }

    /// The value of the member `type`.
    public static let type = "devices"
    /// The most devices of a list. With the first one a person has 8.
    public static let mostDevices = 7
    /// The longest name of a device, in bytes.
    public static let nameBytes = 64

    /// The owner.
    public let owner: KeyID
    /// The number of the list. That of a later list is greater.
    public let seq: Int64
    /// The time of the signature.
    public let issued: Timestamp
    /// The devices without the first one, in the order in which they were added.
    public let devices: [Device]
    /// Of a private list, which only the owner's devices get: the number of the list without devices that others get, or 0 if they
    /// get none. `nil` for a public list.
    public let shown: Int64?
    /// The signed record, with members that this version does not know.
    public let record: JSONObject

    /// Creates and signs the list of an owner. `last` is the number of the list before it, or 0. With `shown` the list is private.
    ///
    /// Throws if a device is not of this owner, stands twice, or has a name that cannot be shown, and with more than
    /// ``mostDevices``.
    public init(
        _ devices: [Device], after last: Int64, shown: Int64? = nil, by owner: Identity,
        at time: Timestamp = .now()
    ) throws(DeviceListError) {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string(Self.type)), ("id", .string(owner.id.description)),
            ("seq", .integer(max(last + 1, time.seconds))), ("issued", .string(time.description)),
            (
                "devices",
                .array(
                    devices.map { device in
                        .object([
                            "card": .object(device.card.record ?? [:]),
                            "name": .string(device.name),
                            "added": .string(device.added.description),
                            "state": .string(device.state.rawValue),
                        ])
                    })
            ),
            ("private", shown.map { .integer($0) }),
        ])
        SignedRecord.sign(&record, with: owner.signingKey)
        try self.init(record: record)
    }

    /// Creates the list without devices that others get in place of a private list. A number always gives the same list, so that
    /// it need not be stored.
    public init(shown number: Int64, by owner: Identity) throws(DeviceListError) {
        try self.init([], after: 0, by: owner, at: Timestamp(seconds: number))
    }

    /// Reads a list and verifies its signature and those of the devices' cards.
    public init(record: JSONObject) throws(DeviceListError) {
        // The limit is named before the length of the record.
        guard record["devices"]?.array?.count ?? 0 <= Self.mostDevices else {
            throw .tooMany(limit: Self.mostDevices)
        }
        do throws(RecordFormError) {
            try RecordForm.devices.canonical(record)
        } catch {
            throw .form(error)
        }
        try self.init(record, isVerified: false)
    }

    /// Reads a list whose signatures were verified before it was stored.
    package init(stored record: JSONObject) throws(DeviceListError) {
        try self.init(record, isVerified: true)
    }

    private init(_ record: JSONObject, isVerified: Bool) throws(DeviceListError) {
        let fields = Fields<DeviceListError>(record)
        try fields.header(Self.type)
        let owner = try fields["id"].keyID()
        self.owner = owner
        seq = try fields["seq"].integer(in: 1...JSON.largestSafeInteger)
        issued = try fields["issued"].time()
        let count = record["devices"]?.array?.count ?? 0
        devices = try fields["devices"].list { (field) throws(DeviceListError) in
            try field.value { Device($0, of: owner, isVerified: isVerified) }
        }
        guard Set(devices.map(\.id)).count == count else { throw .member("devices") }
        shown = try fields["private"].optional?.integer(in: 0...JSON.largestSafeInteger)
        // The number of the list that others get is lower, so that no own device takes that list.
        guard shown ?? 0 < seq else { throw .member("private") }
        self.record = record
        guard isVerified || SignedRecord.verify(record, by: owner.publicKey) else {
            throw .signature
        }
    }

    /// Whether only the owner's devices get the list.
    public var isPrivate: Bool { shown != nil }

    /// Returns the device with this id, or `nil`.
    public func device(_ id: KeyID) -> Device? { devices.first { $0.id == id } }

    /// Whether it takes the place of another list of the same owner.
    public func supersedes(_ other: DeviceList?) -> Bool {
        guard let other else { return true }
        return owner == other.owner && seq > other.seq
    }

    /// Whether two lists of one owner have one number and different content. Somebody else has the owner's identity.
    public func isFork(of other: DeviceList) -> Bool {
        owner == other.owner && seq == other.seq && self != other
    }
}

/// Two lists with one record are equal, in whatever order its members were read.
extension DeviceList: Hashable {
    /// Compares the canonical forms of the records.
    public static func == (one: DeviceList, other: DeviceList) -> Bool {
        one.owner == other.owner && one.seq == other.seq
            && JSON.object(one.record).canonical() == JSON.object(other.record).canonical()
    }

    /// Hashes the owner and the number.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(seq)
    }
}

extension DeviceList.Device {
    /// Reads an entry of the list of an owner, or returns `nil` if it is malformed or its card is not of a device of the owner.
    fileprivate init?(_ value: JSON, of owner: KeyID, isVerified: Bool) {
        guard case .object(let record) = value, let object = record["card"]?.object,
            let card = isVerified ? try? Card(stored: object) : try? Card(record: object),
            card.owner == owner, card.address == nil, card.accounts.members.isEmpty,
            let name = record["name"]?.string, Self.isName(name),
            let added = record["added"]?.string.flatMap({ Timestamp($0) }),
            let state = record["state"]?.string.flatMap({ DeviceList.State(rawValue: $0) })
        else { return nil }
        self.init(card: card, name: name, added: added, state: state)
    }

    /// The kinds of characters that a name cannot have: they are invisible, or change the direction or the line.
    private static let refused: Set<Unicode.GeneralCategory> = [
        .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
    ]

    /// Whether a text can be the name of a device: 1 to ``DeviceList/nameBytes`` bytes of characters that can be seen, and no
    /// spaces at its ends.
    public static func isName(_ text: String) -> Bool {
        (1...DeviceList.nameBytes).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                !refused.contains($0.properties.generalCategory)
                    && !$0.properties.isDefaultIgnorableCodePoint
            }
            && text.first?.isWhitespace == false && text.last?.isWhitespace == false
    }
}
