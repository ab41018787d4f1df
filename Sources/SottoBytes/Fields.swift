/// An error of a record's reader. ``Fields`` throws it.
public protocol RecordError: Error {
    /// A member is missing, or has another type, form or length.
    static func member(_ name: String) -> Self
    /// The record is of a later version.
    static func version(_ version: Int64) -> Self
}

/// An error of a record's reader that does not tell versions apart.
public protocol UnversionedRecordError: RecordError {}

extension UnversionedRecordError {
    /// Returns the error of the member `v`.
    public static func version(_ version: Int64) -> Self { .member("v") }
}

/// The error of a record whose reader has no other errors.
public enum FieldError: UnversionedRecordError, Equatable {
    /// A member is missing, or has another type, form or length.
    case member(String)
}

/// The members of a record as its reader requires them. `Failure` is the reader's error.
///
/// All of it is inlinable, as the functions on bytes are.
public struct Fields<Failure: RecordError>: Sendable {
    /// The record.
    public let record: JSONObject

    /// Creates a reader of a record.
    @inlinable
    public init(_ record: JSONObject) { self.record = record }

    /// The member `name`, which may be absent.
    @inlinable
    public subscript(name: String) -> Field<Failure> { Field(name: name, value: record[name]) }

    /// Requires `type`, and version 1 in `v`.
    @inlinable
    public func header(_ type: String) throws(Failure) {
        guard record["type"]?.string == type else { throw .member("type") }
        try version()
    }

    /// Requires version 1 in the member `name`.
    @inlinable
    public func version(_ name: String = "v") throws(Failure) {
        let version: Int64 = try self[name].integer()
        guard version == 1 else { throw .version(version) }
    }
}

/// One member of a record. Its functions throw the error of this member if it is absent or different.
public struct Field<Failure: RecordError>: Sendable {
    /// The name of the member, which errors contain.
    public let name: String
    /// The value, or `nil` if the member is absent.
    public let value: JSON?

    /// Creates a field.
    @inlinable
    public init(name: String, value: JSON?) {
        self.name = name
        self.value = value
    }

    /// The field, or `nil` if the member is absent.
    @inlinable
    public var optional: Field? { value == nil ? nil : self }

    /// The field, or `nil` if the member is absent or null.
    @inlinable
    public var nullable: Field? { value == nil || value == .null ? nil : self }

    /// The error of this member.
    @inlinable
    public var failure: Failure { .member(name) }

    @inlinable
    func required<T>(_ value: T?) throws(Failure) -> T {
        guard let value else { throw failure }
        return value
    }

    /// Returns the string.
    @inlinable
    public func text() throws(Failure) -> String { try required(value?.string) }

    /// Returns what `read` makes of the string. `nil` is an error.
    @inlinable
    public func text<T>(_ read: (String) -> T?) throws(Failure) -> T {
        try required(value?.string.flatMap(read))
    }

    /// Returns the bytes of a string in standard base64 with padding.
    @inlinable
    public func bytes() throws(Failure) -> [UInt8] {
        try text { Base64.standard.decode($0) }
    }

    /// Returns the bytes of a string in base64 whose number `isCount` accepts.
    @inlinable
    public func bytes(where isCount: (Int) -> Bool) throws(Failure) -> [UInt8] {
        let bytes = try bytes()
        guard isCount(bytes.count) else { throw failure }
        return bytes
    }

    /// Returns `count` bytes of a string in base64.
    @inlinable
    public func bytes(count: Int) throws(Failure) -> [UInt8] { try bytes { $0 == count } }

    /// Returns `count` secret bytes of a string in base64.
    @inlinable
    public func secret(count: Int) throws(Failure) -> SecretBytes {
        var bytes = try bytes()
        defer { wipe(&bytes) }
        guard bytes.count == count else { throw failure }
        return SecretBytes(copying: bytes)
    }

    /// Returns `count` bytes of a string in hexadecimal.
    @inlinable
    public func hexBytes(count: Int) throws(Failure) -> [UInt8] {
        try text { SottoBytes.bytes(hex: $0).flatMap { $0.count == count ? $0 : nil } }
    }

    /// Returns the integer, which must be in `range`.
    @inlinable
    public func integer<T: FixedWidthInteger>(
        in range: ClosedRange<T> = T.min...T.max
    ) throws(Failure) -> T {
        let number = try required(value?.integer.flatMap { T(exactly: $0) })
        guard range.contains(number) else { throw failure }
        return number
    }

    /// Returns the Boolean.
    @inlinable
    public func bool() throws(Failure) -> Bool { try required(value?.bool) }

    /// Returns the object.
    @inlinable
    public func object() throws(Failure) -> JSONObject { try required(value?.object) }

    /// Returns the members of the object.
    @inlinable
    public func members() throws(Failure) -> Fields<Failure> { Fields(try object()) }

    /// Returns the array.
    @inlinable
    public func array() throws(Failure) -> [JSON] { try required(value?.array) }

    /// Returns what `read` makes of the value. `nil` is an error.
    @inlinable
    public func value<T>(_ read: (JSON) -> T?) throws(Failure) -> T {
        try required(value.flatMap(read))
    }

    /// Returns what `read` makes of the members of the object. All errors name this member.
    @inlinable
    public func object<T>(
        _ read: (Fields<Failure>) throws(Failure) -> T
    ) throws(Failure) -> T {
        let members = try members()
        do throws(Failure) { return try read(members) } catch { throw failure }
    }

    /// Returns what `read` makes of each element of the array, whose number must be in `counts`. All errors name this
    /// member.
    @inlinable
    public func list<T>(
        counts: ClosedRange<Int> = 0...Int.max, _ read: (Field) throws(Failure) -> T
    ) throws(Failure) -> [T] {
        let elements = try array()
        guard counts.contains(elements.count) else { throw failure }
        var list: [T] = []
        for element in elements {
            do throws(Failure) {
                list.append(try read(Field(name: name, value: element)))
            } catch {
                throw failure
            }
        }
        return list
    }
}

extension JSON {
    /// Returns a string of bytes in standard base64 with padding, as ``Field/bytes()`` reads it.
    @inlinable
    public static func base64(_ bytes: [UInt8]) -> JSON {
        .string(Base64.standard.encode(bytes))
    }
}
