/// A record with which the owner of an id replaced or ended it.
public enum IdentityNews: Sendable, Hashable {
    /// Another identity replaces the id.
    case succession(Succession)
    /// The id ends.
    case revocation(Revocation)

    /// The id that the record is about.
    public var id: KeyID {
        switch self {
        case .succession(let succession): succession.former
        case .revocation(let revocation): revocation.id
        }
    }

    /// The signed record.
    public var record: JSONObject {
        switch self {
        case .succession(let succession): succession.record
        case .revocation(let revocation): revocation.record
        }
    }

    /// Reads a `succession` or `revocation` record, or returns `nil` for one of another type. Throws ``Succession/Invalid`` or
    /// ``Revocation/Invalid``.
    public init?(record: JSONObject) throws {
        switch record["type"]?.string {
        case Succession.type: self = .succession(try Succession(record: record))
        case Revocation.type: self = .revocation(try Revocation(record: record))
        default: return nil
        }
    }
}
