import Sotto

/// Why a relay does not do what it is asked, as its replies name it.
public enum Reason: String, Sendable, CaseIterable {
    /// Not JSON as Sotto reads it: malformed, a member twice, not UTF-8, or too deep.
    case badJSON = "bad_json"
    /// JSON, but not a frame.
    case badFrame = "bad_frame"
    /// A frame whose payload lacks a member, or has one of the wrong form.
    case badFields = "bad_fields"
    /// A type of frame that this relay does not know.
    case unknownType = "unknown_type"
    /// A record is not signed by its owner.
    case badSignature = "bad_signature"
    /// The login was refused; every cause reads like this.
    case loginFailed = "login_failed"
    /// The owner of the id may not have a mailbox at this relay: it is for members.
    case notAdmitted = "not_admitted"
    /// A web page of another host sent the request.
    case foreignOrigin = "foreign_origin"
    /// Only for a mailbox's owner, after a login.
    case loginRequired = "login_required"
    /// There are no prekeys of that owner, known or not.
    case noBundle = "no_bundle"
    /// There is no card of that id, known or not.
    case noCard = "no_card"
    /// Many new ids come at once: a proof of work is asked for first.
    case workRequired = "work_required"
    /// The mailbox gets more in a minute than it may.
    case tooMany = "too_many"
    /// The id is known with another envelope, or the claim with another owner.
    case conflict = "conflict"
    /// The envelope or the line is over the limit.
    case tooLarge = "too_large"
    /// The mailbox holds as much as it may.
    case mailboxFull = "mailbox_full"
    /// The relay has no more connections to give, or a connection no more claims.
    case busy = "busy"
    /// The relay's disk is full.
    case diskFull = "disk_full"

    /// The number beside the name; HTTP's, where it has one.
    public var code: Int64 {
        switch self {
        case .badJSON, .badFrame, .badFields, .unknownType: 400
        case .noBundle, .noCard: 404
        case .notAdmitted, .foreignOrigin: 403
        case .badSignature, .loginFailed, .loginRequired: 401
        case .conflict: 409
        case .tooLarge: 413
        case .workRequired: 428
        case .mailboxFull, .tooMany: 429
        case .busy: 503
        case .diskFull: 507
        }
    }
}

extension Reason: Error {}

/// A refusal as it came over the wire: a later relay may have reasons that we do not know.
public struct Refusal: Sendable, Equatable {
    /// The number.
    public let code: Int64
    /// The name.
    public let reason: String

    /// A refusal of this code and name.
    public init(code: Int64, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The refusal that a known reason makes.
    public init(_ reason: Reason) { self.init(code: reason.code, reason: reason.rawValue) }

    var payload: JSONObject { ["code": .integer(code), "reason": .string(reason)] }

    init?(payload: JSONObject) {
        guard let code = payload["code"]?.integer, let reason = payload["reason"]?.string else {
            return nil
        }
        self.init(code: code, reason: reason)
    }
}
