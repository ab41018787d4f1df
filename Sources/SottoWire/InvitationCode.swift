import Sotto

/// A one-time code that lets whoever has it become a member of a relay: eight English words of BIP 39, 88 bits.
///
/// A relay keeps its ``tag`` and ``key``, which are HKDF-SHA-256 of the words. A login proves the code without
/// showing it: an HMAC-SHA-256 under the key over what the login signs.
public struct InvitationCode: Sendable, Equatable {
    /// How many words a code has.
    public static let wordCount = 8

    /// Why a text is no code.
    public enum Invalid: Error, Sendable, Equatable {
        /// It has so many words.
        case count(Int)
        /// The word at this place, from 1, is not in the list.
        case word(Int)
    }

    /// The words, in lower case.
    public let words: [String]
    /// 16 bytes by which a relay finds the invitation.
    public let tag: [UInt8]
    /// 32 bytes that prove the code.
    public let key: [UInt8]

    /// A new code.
    public init() {
        let list = Wordlist.english.words
        var generator = SystemRandomNumberGenerator()
        self.init(
            words: (0..<Self.wordCount).map { _ in
                String(list[Int.random(in: 0..<list.count, using: &generator)])
            })
    }

    /// Reads words between spaces, hyphens or line ends, in upper or lower case.
    public init(_ text: String) throws(Invalid) {
        let words = text.lowercased()
            .split { $0 == "-" || $0.isWhitespace }.map(String.init)
        guard words.count == Self.wordCount else { throw .count(words.count) }
        let list = Set(Wordlist.english.words.map(String.init))
        if let place = words.firstIndex(where: { !list.contains($0) }) { throw .word(place + 1) }
        self.init(words: words)
    }

    private init(words: [String]) {
        self.words = words
        let secret = SecretBytes(copying: words.joined(separator: " ").utf8)
        let derived = hkdfSHA256(secret, info: "sotto/invitation/v1", count: 48)
            .withBytes { Array($0) }
        tag = Array(derived[..<16])
        key = Array(derived[16...])
    }

    /// The words between hyphens.
    public var text: String { words.joined(separator: "-") }
}

/// A login's proof that its owner has an ``InvitationCode``.
public struct InvitationProof: Sendable, Equatable {
    /// The code's tag, 16 bytes.
    public let tag: [UInt8]
    /// HMAC-SHA-256 under the code's key over what the login signs, 32 bytes.
    public let mac: [UInt8]

    /// A proof of these parts.
    public init(tag: [UInt8], mac: [UInt8]) {
        self.tag = tag
        self.mac = mac
    }

    var payload: JSONObject {
        [
            "tag": .string(Base64.standard.encode(tag)),
            "mac": .string(Base64.standard.encode(mac)),
        ]
    }

    init?(payload: JSONObject) {
        guard let tag = payload["tag"]?.string.flatMap({ Base64.standard.decode($0) }),
            let mac = payload["mac"]?.string.flatMap({ Base64.standard.decode($0) }),
            tag.count == 16, mac.count == 32
        else { return nil }
        self.init(tag: tag, mac: mac)
    }
}
