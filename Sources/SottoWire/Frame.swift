public import Sotto

/// One line between a client and a relay: `{"type":…,"request_id":…,"payload":{…}}`.
public struct Frame: Sendable, Equatable {
    /// The type of the request or reply.
    public let type: String
    /// The id that connects a reply to its request; `nil` in a push.
    public let requestID: String?
    /// The other members, by type.
    public let payload: JSONObject

    /// Creates a frame.
    public init(type: String, requestID: String?, payload: JSONObject = [:]) {
        self.type = type
        self.requestID = requestID
        self.payload = payload
    }

    /// Parses a line without its line feed.
    ///
    /// Throws ``Reason/badJSON`` or ``Reason/badFrame``. `request_id` and `payload` are optional; unknown members are
    /// ignored.
    public init(parsing line: [UInt8]) throws(Reason) {
        let value: JSON
        do throws(JSONError) { value = try JSON(parsing: line) } catch { throw .badJSON }
        guard case .object(let object) = value, let type = object["type"]?.string else {
            throw .badFrame
        }
        self.type = type
        switch object["request_id"] {
        case nil: requestID = nil
        case .string(let id) where Self.isRequestID(id): requestID = id
        default: throw .badFrame
        }
        switch object["payload"] {
        case nil: payload = [:]
        case .object(let object): payload = object
        default: throw .badFrame
        }
    }

    /// The line, with its line feed.
    public var line: [UInt8] {
        Self.line(type: type, requestID: requestID, payload: payload.serialized())
    }

    /// Returns the line of a frame with a serialized payload.
    static func line(type: String, requestID: String?, payload: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(payload.count + 64 + (requestID?.utf8.count ?? 0))
        out += "{\"type\":\"".utf8
        out += type.utf8
        if let requestID {
            out += "\",\"request_id\":\"".utf8
            out += requestID.utf8
        }
        out += "\",\"payload\":".utf8
        out += payload
        out += "}\n".utf8
        return out
    }

    /// Whether a line in the form of ``line`` is a frame of this type.
    public static func begins(_ line: some Collection<UInt8>, type: String) -> Bool {
        line.starts(with: "{\"type\":\"\(type)\"".utf8)
    }

    /// Returns a payload with one member, whose value is a record on one line.
    static func payload(member: String, record: [UInt8]) -> [UInt8] {
        var out = Array("{\"\(member)\":".utf8)
        out.reserveCapacity(out.count + record.count + 1)
        out += record
        out.append(UInt8(ascii: "}"))
        return out
    }

    /// Returns a payload with one member, whose value is a list of records, each on one line.
    static func payload(member: String, records: [[UInt8]]) -> [UInt8] {
        payload(
            member: member,
            record: [0x5B] + records.joined(separator: Array(",".utf8)) + [0x5D])
    }

    /// Whether `text` may be a request id: 1 to 64 of `A`–`Z`, `a`–`z`, `0`–`9`, `.`, `_`, `:` and `-`.
    public static func isRequestID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                case 0x2D, 0x2E, 0x3A, 0x5F: true
                default: false
                }
            }
    }
}
