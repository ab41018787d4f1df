import CSodium
import SottoBytes

/// A part of content that is split over several QR codes:
///
///     "SQR" ‖ 0x01 ‖ set id (16 bytes) ‖ u8(index) ‖ u8(count) ‖ bytes of the content, 1 or more
///
/// The set id is the first 16 bytes of SHA-256 of the whole content. The bytes of the parts, in the order of their
/// indices, are the content.
///
/// The structured append of ISO/IEC 18004, §8 is not used: it is limited to 16 codes, identifies a set only by an 8-bit
/// parity, and many readers do not report it.
public struct CodePart: Sendable, Hashable {
    /// The maximum number of parts of a set.
    public static let maximumCount = 99
    /// The length of the header before the content, in bytes.
    public static let headerSize = magic.count + setSize + 2
    /// The maximum number of content bytes in a part if the number of parts is not given.
    public static let usualSize = 640

    static let magic: [UInt8] = Array("SQR".utf8) + [1]
    static let setSize = 16

    /// The id of the set, 16 bytes, the same for all parts of a content.
    public let set: [UInt8]
    /// The position of the part, from 1 to ``count``.
    public let index: Int
    /// The number of parts, 1 to ``maximumCount``.
    public let count: Int
    /// The bytes of the content in this part, not empty.
    public let bytes: [UInt8]

    /// Parses the bytes of a code. Returns `nil` if they are not a part.
    public init?(parsing code: [UInt8]) {
        guard code.count > Self.headerSize, code.starts(with: Self.magic) else { return nil }
        let index = Int(code[Self.headerSize - 2])
        let count = Int(code[Self.headerSize - 1])
        guard 1...Self.maximumCount ~= count, 1...count ~= index else { return nil }
        set = Array(code[Self.magic.count..<Self.magic.count + Self.setSize])
        (self.index, self.count) = (index, count)
        bytes = Array(code[Self.headerSize...])
    }

    private init(set: [UInt8], index: Int, count: Int, bytes: [UInt8]) {
        (self.set, self.index, self.count, self.bytes) = (set, index, count, bytes)
    }

    /// The bytes of the part's code.
    public var code: [UInt8] {
        Self.magic + set + [UInt8(index), UInt8(count)] + bytes
    }

    /// Splits `content` into `count` parts whose lengths differ by at most one byte.
    ///
    /// `count` is from 1 to ``maximumCount`` and at most the number of bytes.
    public static func split(_ content: [UInt8], into count: Int) -> [CodePart] {
        precondition(1...min(maximumCount, content.count) ~= count)
        let set = id(of: content)
        return (0..<count).map { place in
            let range = place * content.count / count..<(place + 1) * content.count / count
            return CodePart(set: set, index: place + 1, count: count, bytes: Array(content[range]))
        }
    }

    static func id(of content: [UInt8]) -> [UInt8] {
        Sodium.start()
        var hash = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&hash, content, UInt64(content.count))
        return Array(hash.prefix(setSize))
    }
}

/// An error of joining parts.
public enum CodePartsError: Error, Sendable, Hashable {
    /// The parts belong to this many different contents.
    case sets(Int)
    /// Parts of one set differ in their count, or in the bytes of the part with this index.
    case contradiction(Int)
    /// The parts with these indices are missing; never empty.
    case missing([Int], of: Int)
    /// All parts are present, but they do not match the set id.
    case hash
}

extension CodePart {
    /// Returns the content of `parts`, which may be in any order and repeated; not empty.
    public static func content(of parts: [CodePart]) throws(CodePartsError) -> [UInt8] {
        let sets = Set(parts.map(\.set))
        guard sets.count == 1, let first = parts.first else { throw .sets(sets.count) }
        var known: [Int: CodePart] = [:]
        for part in parts {
            let other = known.updateValue(part, forKey: part.index) ?? part
            guard part == other, part.count == first.count else {
                throw .contradiction(part.index)
            }
        }
        let missing = (1...first.count).filter { known[$0] == nil }
        guard missing.isEmpty else { throw .missing(missing, of: first.count) }
        let content = (1...first.count).flatMap { known[$0]?.bytes ?? [] }
        guard id(of: content) == first.set else { throw .hash }
        return content
    }
}
