/// The description that an owner sends to its contacts: the members of the body `profile`. sotto-formats(5), BODIES.
///
/// Each value is a claim of its author. A profile replaces one that was issued before it.
public struct OwnerProfile: Sendable, Hashable {
    /// The time by which profiles of one author are ordered. It never falls, also if the author's clock does.
    public var issued: Timestamp
    /// The name that the author uses, from 1 to ``BodyLimits/name`` bytes on one line.
    public var name: String?
    /// A description, at most ``BodyLimits/about`` bytes.
    public var about: String?
    /// A JPEG of at most ``BodyLimits/thumbnail`` bytes. Its size in pixels is not checked.
    public var avatar: [UInt8]?
    /// The phone number, from 1 to ``BodyLimits/detail`` bytes on one line.
    public var phone: String?
    /// The location, from 1 to ``BodyLimits/detail`` bytes on one line.
    public var location: String?

    /// A part of a profile, which can be absent.
    public enum Part: String, Sendable, CaseIterable { case name, about, avatar, phone, location }

    /// Creates a profile without any part.
    public init(issued: Timestamp) { self.issued = issued }

    init(_ reader: inout BodyReader) throws(BodyError) {
        name = try reader.line("name", limit: BodyLimits.name)
        about = try reader.text("about", limit: BodyLimits.about)
        avatar = try reader.picture("avatar")
        phone = try reader.line("phone", limit: BodyLimits.detail)
        location = try reader.line("location", limit: BodyLimits.detail)
        issued = try reader.require("issued").time()
    }

    /// Reads a profile that is stored on this machine. Other members are ignored.
    ///
    /// - Throws: ``BodyError`` for a member that is missing or malformed.
    package init(record: JSONObject) throws(BodyError) {
        var reader = BodyReader(record)
        try self.init(&reader)
    }

    /// The members of the body, and of a record with the profile.
    package var members: [(String, JSON?)] {
        Part.allCases.map { ($0.rawValue, value(of: $0)) }
            + [("issued", .string(issued.description))]
    }

    private func value(of part: Part) -> JSON? {
        switch part {
        case .name: name.map { .string($0) }
        case .about: about.map { .string($0) }
        case .avatar: avatar.map { .base64($0) }
        case .phone: phone.map { .string($0) }
        case .location: location.map { .string($0) }
        }
    }

    /// The parts that the profile has.
    public var parts: [Part] { Part.allCases.filter { value(of: $0) != nil } }

    /// Returns the parts that differ from those of another profile, or of none.
    public func changes(since other: OwnerProfile?) -> [Part] {
        Part.allCases.filter { value(of: $0) != other?.value(of: $0) }
    }

    /// Returns the profile without some parts.
    public func without(_ hidden: Set<Part>) -> OwnerProfile {
        var copy = self
        for part in hidden {
            switch part {
            case .name: copy.name = nil
            case .about: copy.about = nil
            case .avatar: copy.avatar = nil
            case .phone: copy.phone = nil
            case .location: copy.location = nil
            }
        }
        return copy
    }
}
