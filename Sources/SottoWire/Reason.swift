public import Sotto

/// The reasons for which a relay refuses a request, as named in its replies.
public enum Reason: String, Sendable, CaseIterable {
    /// Invalid JSON: malformed, a repeated member, not UTF-8, or nested too deep.
    case badJSON = "bad_json"
    /// JSON, but not a frame.
    case badFrame = "bad_frame"
    /// A frame whose payload lacks a member, or has an invalid one.
    case badFields = "bad_fields"
    /// A frame of an unknown type.
    case unknownType = "unknown_type"
    /// The record is not signed by its owner.
    case badSignature = "bad_signature"
    /// The login was refused; all causes give the same reason.
    case loginFailed = "login_failed"
    /// The id may not have a mailbox at this relay, which is for members.
    case notAdmitted = "not_admitted"
    /// A web page of a foreign origin sent the request.
    case foreignOrigin = "foreign_origin"
    /// The request needs a login as the mailbox's owner.
    case loginRequired = "login_required"
    /// The relay has no prekeys of the owner, whether or not it knows the id.
    case noBundle = "no_bundle"
    /// The relay has no card of the id, whether or not it knows the id.
    case noCard = "no_card"
    /// The relay has no record of that room.
    case noRoom = "no_room"
    /// The relay has no TURN servers.
    case noTurn = "no_turn"
    /// The relay has no complete blob with that id.
    case noBlob = "no_blob"
    /// The relay has no meeting with that number, or it has expired.
    case noMeeting = "no_meeting"
    /// The meeting has ended.
    case meetingOver = "meeting_over"
    /// The relay, or the place of the meeting, has another name.
    case otherName = "other_name"
    /// The bytes of the uploaded blob have another SHA-256; they were deleted.
    case badDigest = "bad_digest"
    /// Too many new ids are being published, or too many meetings used: a proof of work is required.
    case workRequired = "work_required"
    /// The mailbox gets more messages in a minute than allowed, or the network uploaded more in a day.
    case tooMany = "too_many"
    /// The relay sends no wake-ups to that address.
    case wakeForbidden = "wake_forbidden"
    /// The member may not make more invitations, or may make none.
    case noInvitations = "no_invitations"
    /// The envelope id belongs to another envelope, the claim id to another owner's claim, the blob id to another blob,
    /// the room to another publishing key, or the step of a meeting to another message.
    case conflict = "conflict"
    /// The envelope, the blob or the line is over its limit.
    case tooLarge = "too_large"
    /// The mailbox is full.
    case mailboxFull = "mailbox_full"
    /// The relay has too many connections, or the connection made too many claims.
    case busy = "busy"
    /// The relay's disk is full.
    case diskFull = "disk_full"

    /// The numeric code of the reason; an HTTP status code if HTTP has one.
    public var code: Int64 {
        switch self {
        case .badJSON, .badFrame, .badFields, .unknownType: 400
        case .noBundle, .noCard, .noRoom, .noTurn, .noBlob, .noMeeting: 404
        case .meetingOver: 410
        case .otherName: 421
        case .notAdmitted, .foreignOrigin, .wakeForbidden, .noInvitations: 403
        case .badSignature, .loginFailed, .loginRequired: 401
        case .conflict: 409
        case .tooLarge: 413
        case .badDigest: 422
        case .workRequired: 428
        case .mailboxFull, .tooMany: 429
        case .busy: 503
        case .diskFull: 507
        }
    }
}

extension Reason: UnversionedRecordError {
    /// Returns ``badFields``.
    public static func member(_ name: String) -> Reason { .badFields }
}

/// A refusal as it was received; a later relay may send unknown reasons.
public struct Refusal: Sendable, Equatable {
    /// The numeric code.
    public let code: Int64
    /// The name of the reason.
    public let reason: String

    /// Creates a refusal from its parts.
    public init(code: Int64, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Creates the refusal of a known reason.
    public init(_ reason: Reason) { self.init(code: reason.code, reason: reason.rawValue) }

    var payload: JSONObject { ["code": .integer(code), "reason": .string(reason)] }

    init(_ payload: Fields<FieldError>) throws(FieldError) {
        code = try payload["code"].integer()
        reason = try payload["reason"].text()
    }
}
