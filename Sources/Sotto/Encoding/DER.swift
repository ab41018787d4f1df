package import SwiftASN1

// Reading and writing of the Distinguished Encoding Rules (X.690 §10) with swift-asn1, which refuses lengths and
// integers that are not in the shortest form.

extension DER {
    /// Reads a sequence that is all of `bytes`, and whose elements `read` consumes. Throws for any other bytes.
    package static func sequence<T>(
        in bytes: [UInt8], _ read: (inout ASN1NodeCollection.Iterator) throws -> T
    ) throws -> T {
        try sequence(parse(bytes), identifier: .sequence, read)
    }

    /// Returns a sequence of the elements that `write` writes, all of which must have an encoding.
    package static func sequence(_ write: (inout Serializer) throws -> Void) -> [UInt8] {
        var serializer = Serializer()
        do { try serializer.sequence(write) } catch { preconditionFailure("\(error)") }
        return serializer.serializedBytes
    }
}

extension DER.Serializer {
    /// Writes a sequence of the elements that `write` writes.
    package mutating func sequence(_ write: (inout DER.Serializer) throws -> Void) rethrows {
        try appendConstructedNode(identifier: .sequence, write)
    }

    /// Writes an OCTET STRING.
    package mutating func octets(_ bytes: [UInt8]) throws {
        try serialize(ASN1OctetString(contentBytes: bytes[...]))
    }
}

extension ASN1NodeCollection.Iterator {
    /// Reads the next element, a sequence, whose elements `read` consumes.
    package mutating func sequence<T>(
        _ read: (inout ASN1NodeCollection.Iterator) throws -> T
    ) throws -> T {
        try DER.sequence(element(), identifier: .sequence, read)
    }

    /// Returns the next element.
    package mutating func element() throws -> ASN1Node {
        guard let node = next() else {
            throw ASN1Error.invalidASN1Object(reason: "an element is missing")
        }
        return node
    }

    /// Consumes the next element, and throws if it is another value.
    package mutating func require<T: DERParseable & Equatable>(_ value: T) throws {
        guard try T(derEncoded: &self) == value else {
            throw ASN1Error.invalidASN1Object(reason: "an element has another value")
        }
    }
}
