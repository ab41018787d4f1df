/// Takes the known members out of an object. The others remain in ``rest``.
struct BodyReader {
    /// The members that were not taken.
    private(set) var rest: JSONObject
    /// The names of the enclosing objects, each with a full stop after it.
    private let path: String

    init(_ object: JSONObject, path: String = "") {
        rest = object
        self.path = path
    }

    /// Returns the error of a malformed member.
    func malformed(_ name: String) -> BodyError { .member(path + name) }

    /// Returns the error of a member that is too long.
    func tooLong(_ name: String, _ limit: Int) -> BodyError { .tooLong(path + name, limit: limit) }

    /// Takes a member; `nil` if it is absent.
    mutating func take(_ name: String) -> Field<BodyError>? {
        guard let value = rest[name] else { return nil }
        rest[name] = nil
        return Field(name: path + name, value: value)
    }

    /// Takes a member. Throws if it is absent.
    mutating func require(_ name: String) throws(BodyError) -> Field<BodyError> {
        guard let field = take(name) else { throw malformed(name) }
        return field
    }

    /// Returns the value of a required member. Throws if it is `nil`.
    func required<Value>(_ name: String, _ value: Value?) throws(BodyError) -> Value {
        guard let value else { throw malformed(name) }
        return value
    }

    /// Takes a text of at most `limit` bytes.
    mutating func text(_ name: String, limit: Int = .max) throws(BodyError) -> String? {
        guard let text = try take(name)?.text() else { return nil }
        guard text.utf8.count <= limit else { throw tooLong(name, limit) }
        return text
    }

    /// Takes a text of 1 to `limit` bytes on one line; see ``Swift/String/isPlainLine``.
    mutating func line(_ name: String, limit: Int) throws(BodyError) -> String? {
        guard let text = try text(name, limit: limit) else { return nil }
        guard !text.isEmpty, text.isPlainLine else { throw malformed(name) }
        return text
    }

    /// Takes base64 of at most `limit` bytes.
    mutating func data(_ name: String, limit: Int = .max) throws(BodyError) -> [UInt8]? {
        guard let data = try take(name)?.bytes() else { return nil }
        guard data.count <= limit else { throw tooLong(name, limit) }
        return data
    }

    /// Takes a picture: base64 of a JPEG of at most ``BodyLimits/thumbnail`` bytes.
    mutating func picture(_ name: String) throws(BodyError) -> [UInt8]? {
        guard let data = try data(name, limit: BodyLimits.thumbnail) else { return nil }
        // The start-of-image marker and the first byte of the next one (ITU-T T.81 §B.1.1.3).
        guard data.starts(with: [0xFF, 0xD8, 0xFF]) else { throw malformed(name) }
        return data
    }

    /// Takes an array of at most `limit` different elements.
    mutating func list<Element: Hashable>(
        _ name: String, limit: Int, _ convert: (JSON) -> Element?
    ) throws(BodyError) -> [Element]? {
        guard let array = try take(name)?.array() else { return nil }
        guard array.count <= limit else { throw tooLong(name, limit) }
        let elements = array.compactMap(convert)
        guard elements.count == array.count, Set(elements).count == array.count else {
            throw malformed(name)
        }
        return elements
    }

    /// Takes an object and reads it with `read`.
    mutating func object<Value>(
        _ name: String, _ read: (inout BodyReader) throws(BodyError) -> Value
    ) throws(BodyError) -> Value? {
        guard let object = try take(name)?.object() else { return nil }
        var reader = BodyReader(object, path: path + name + ".")
        return try read(&reader)
    }
}

extension String {
    /// Whether the text has no control characters, line ends and bidirectional formatting characters (UAX #9 §2), so
    /// that it cannot imitate or rearrange the text around it.
    package var isPlainLine: Bool { unicodeScalars.allSatisfy(\.isPlain) }
}

extension Unicode.Scalar {
    /// Whether the character may be in a plain line.
    var isPlain: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: false
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
