import Sotto

/// A request about the place of a meeting; it needs no login.
public struct MeetingRequest: Sendable, Equatable {
    /// An action at the place.
    public enum Act: Sendable, Equatable {
        /// Read the message of a step, from 1.
        case get(step: Int)
        /// Store the message of a step. Each step is stored once, and after the one before it.
        case put(step: Int, message: [UInt8])
        /// End the meeting: its messages are deleted.
        case end
    }

    /// The number of the place.
    public let number: Int64
    /// The relay's name for which the place was made.
    public let relay: String
    /// The action at the place.
    public let act: Act

    /// Creates a request.
    public init(number: Int64, relay: String, _ act: Act) {
        (self.number, self.relay, self.act) = (number, relay, act)
    }

    init(_ type: String, _ payload: Fields<Reason>) throws(Reason) {
        number = try payload["number"].integer(in: MeetingCode.numbers)
        relay = try Self.relay(payload)
        func step() throws(Reason) -> Int {
            try payload["step"].integer(in: 1...WireLimits.meetingSteps)
        }
        switch type {
        case "meeting_get": act = .get(step: try step())
        case "meeting_put":
            act = .put(
                step: try step(),
                message: try payload["message"].bytes { 1...WireLimits.meetingBytes ~= $0 })
        default: act = .end
        }
    }

    /// Returns the relay's name in a request, in the form in which names are compared.
    static func relay(_ payload: Fields<Reason>) throws(Reason) -> String {
        try payload["relay"].text { $0.utf8.count <= WireLimits.nameBytes ? $0.lowercased() : nil }
    }

    /// The type of the frame.
    var type: String {
        switch act {
        case .get: "meeting_get"
        case .put: "meeting_put"
        case .end: "meeting_end"
        }
    }

    var payload: JSONObject {
        var payload: JSONObject = ["number": .integer(number), "relay": .string(relay)]
        switch act {
        case .get(let step): payload["step"] = .integer(Int64(step))
        case .put(let step, let message):
            payload["step"] = .integer(Int64(step))
            payload["message"] = .base64(message)
        case .end: break
        }
        return payload
    }
}
