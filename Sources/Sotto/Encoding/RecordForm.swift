import SottoPadding

/// A reason to refuse a record of another person as a whole, whatever its members are.
public enum RecordFormError: Error, Sendable, Hashable {
    /// The bytes are not one JSON object.
    case notObject
    /// Arrays and objects nest deeper than `limit`.
    case tooDeep(limit: Int)
    /// The record has more than `limit` bytes.
    case tooLong(limit: Int)
    /// A number of a signed record is not an integer within ±(2⁵³ − 1).
    case number
    /// The canonical form is not read as the same record.
    case canonical
}

/// The kinds of records that come from other people, with the limits that each one has wherever it stands. A record that
/// passes can be stored, forwarded and read back in each of its places: the limits are far below ``JSON/maximumDepth``,
/// which is for the records around it. sotto-formats(5), Limits of records.
public enum RecordForm: Sendable, CaseIterable {
    /// A card, type `contact`.
    case card
    /// A change of a group, type `group-change`.
    case change
    /// The record of a room, type `room`.
    case room
    /// The content of a room, type `room-content`.
    case roomContent
    /// A publication of prekeys, type `prekeys`.
    case preKeys
    /// A bundle of prekeys, type `bundle`.
    case bundle
    /// A list of devices, type `devices`.
    case devices
    /// A login key, type `login-key`.
    case loginKey
    /// The replacement of an identity, type `succession`.
    case succession
    /// The end of an identity, type `revocation`.
    case revocation
    /// An envelope, type `envelope`.
    case envelope
    /// The record inside an envelope, type `message`.
    case message
    /// The body of a message.
    case body
    /// The body of an earlier message in the body `group`.
    case earlierBody

    /// The deepest nesting of arrays and objects; the record itself is 1.
    public var depth: Int {
        switch self {
        // The members of a device's card: a list, its array, a device and its card. The list is inside a card.
        case .devices: 5
        case .card, .change, .room, .preKeys, .bundle, .loginKey, .revocation, .earlierBody: 6
        // The object around a card.
        case .succession: 7
        // An object, an array and a change or a card.
        case .roomContent, .envelope: 8
        // The same with the object of an earlier message, and its body.
        case .body: 9
        case .message: 10
        }
    }

    /// The most bytes: of the canonical form if the record is signed, else on one line.
    public var bytes: Int {
        switch self {
        case .loginKey: 16 << 10
        // For a QR code.
        case .revocation: 2 << 10
        // The cards of 7 devices, of 2.4 KiB each.
        case .devices: 20 << 10
        // A card with a list of devices. The succession has one of these cards.
        case .card, .succession, .change: 24 << 10
        case .room, .preKeys, .bundle, .envelope: 64 << 10
        case .roomContent: 44 << 10
        // A padded frame of 32,768 bytes, so that the envelope is below the relay's limit of 64 KiB.
        case .message, .body, .earlierBody: 32768 - Padding.overhead
        }
    }

    /// Whether a signature covers the canonical form (RFC 8785), so that all numbers are integers within ±(2⁵³ − 1).
    public var isSigned: Bool {
        switch self {
        case .card, .change, .room, .preKeys, .devices, .loginKey, .succession, .revocation: true
        case .roomContent, .bundle, .envelope, .message, .body, .earlierBody: false
        }
    }

    /// Reads the bytes of a record and checks its form.
    package func record(parsing bytes: [UInt8]) throws(RecordFormError) -> JSONObject {
        guard bytes.count <= self.bytes else { throw .tooLong(limit: self.bytes) }
        let record: JSONObject
        do throws(JSONError) {
            record = try JSON.object(parsing: bytes, depth: depth)
        } catch {
            if case .tooDeep = error { throw .tooDeep(limit: depth) }
            throw .notObject
        }
        try check(record)
        return record
    }

    /// Checks the nesting and the numbers of a record.
    package func check(_ record: JSONObject) throws(RecordFormError) {
        guard JSON.object(record).nests(atMost: depth) else { throw .tooDeep(limit: depth) }
        guard !isSigned || JSON.object(record).hasOnlySafeIntegers else { throw .number }
    }

    /// Checks all of the form of a record, and returns its canonical form, which is parsed again and compared.
    @discardableResult
    package func canonical(_ record: JSONObject) throws(RecordFormError) -> [UInt8] {
        try check(record)
        let bytes = JSON.object(record).canonical()
        guard bytes.count <= self.bytes else { throw .tooLong(limit: self.bytes) }
        guard (try? JSON.object(parsing: bytes, depth: depth)) == record.sorted() else {
            throw .canonical
        }
        return bytes
    }
}
