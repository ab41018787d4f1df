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
    /// The picture of which ``avatar`` is a small copy, or `nil`.
    public var picture: Picture?
    /// The phone number, from 1 to ``BodyLimits/detail`` bytes on one line.
    public var phone: String?
    /// The location, from 1 to ``BodyLimits/detail`` bytes on one line.
    public var location: String?

    /// A picture in a blob.
    public struct Picture: Sendable, Hashable {
        /// The blob. It has no place until the profile is encrypted for a person.
        public var blob: BlobPointer
        /// The length of the picture in bytes, 1 to ``BodyLimits/picture``.
        public let size: Int64
        /// The format.
        public let format: Format

        /// A format of pictures, whose metadata can be removed.
        public enum Format: String, Sendable, CaseIterable {
            case jpeg = "image/jpeg"
            case png = "image/png"
        }

        /// Creates a picture; `nil` if the size is too large, or the blob has not that size.
        public init?(blob: BlobPointer, size: Int64, format: Format) {
            guard (1...BodyLimits.picture).contains(size), blob.size == Blob.size(ofFile: size)
            else { return nil }
            (self.blob, self.size, self.format) = (blob, size, format)
        }

        /// The name of a file with the picture.
        public var fileName: String {
            switch format {
            case .jpeg: "avatar.jpg"
            case .png: "avatar.png"
            }
        }
    }

    /// A part of a profile, which can be absent. The picture is of the part `avatar`.
    public enum Part: String, Sendable, CaseIterable { case name, about, avatar, phone, location }

    /// Creates a profile without any part.
    public init(issued: Timestamp) { self.issued = issued }

    init(_ reader: inout BodyReader) throws(BodyError) {
        name = try reader.line("name", limit: BodyLimits.name)
        about = try reader.text("about", limit: BodyLimits.about)
        avatar = try reader.picture("avatar")
        picture = try Self.picture(&reader)
        phone = try reader.line("phone", limit: BodyLimits.detail)
        location = try reader.line("location", limit: BodyLimits.detail)
        issued = try reader.require("issued").time()
    }

    /// Takes the members of the picture. Without a blob the others are no members of a profile.
    private static func picture(_ reader: inout BodyReader) throws(BodyError) -> Picture? {
        let blob: BlobPointer? = try reader.object("blob") { (reader) throws(BodyError) in
            try BlobPointer(&reader)
        }
        guard let blob else { return nil }
        let size = try reader.take("size")?.integer(in: 1...BodyLimits.picture)
        let type = try reader.line("contentType", limit: BodyLimits.contentType)
        guard let size, let format = type.flatMap({ Picture.Format(rawValue: $0) }),
            let picture = Picture(blob: blob, size: size, format: format)
        else { throw reader.malformed("blob") }
        return picture
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
            + [
                ("blob", picture.map { .object($0.blob.object) }),
                ("size", picture.map { .integer($0.size) }),
                ("contentType", picture.map { .string($0.format.rawValue) }),
                ("issued", .string(issued.description)),
            ]
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

    /// Returns the parts that differ from those of another profile, or of none. The place of the picture does not count.
    public func changes(since other: OwnerProfile?) -> [Part] {
        Part.allCases.filter { part in
            value(of: part) != other?.value(of: part)
                || part == .avatar && picture?.blob.digest != other?.picture?.blob.digest
        }
    }

    /// Returns the profile without some parts.
    public func without(_ hidden: Set<Part>) -> OwnerProfile {
        var copy = self
        for part in hidden {
            switch part {
            case .name: copy.name = nil
            case .about: copy.about = nil
            case .avatar: (copy.avatar, copy.picture) = (nil, nil)
            case .phone: copy.phone = nil
            case .location: copy.location = nil
            }
        }
        return copy
    }
}
