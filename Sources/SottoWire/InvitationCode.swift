import Sotto

/// A one-time code that makes its owner a member of a relay: eight English words of BIP 39, 88 bits.
///
/// HKDF-SHA-256 of the words gives a tag and the seed of an Ed25519 key pair. A relay stores only the ``tag`` and the
/// ``publicKey``, so neither the relay nor a copy of its store can redeem the code. A login proves the code with a
/// signature and does not reveal it.
public struct InvitationCode: Sendable, Equatable {
    /// The number of words in a code.
    public static let wordCount = 8

    /// The reason why a text is not a code.
    public enum Invalid: Error, Sendable, Equatable {
        /// The text has this number of words instead.
        case count(Int)
        /// The word at this place, counted from 1, is not in the list.
        case word(Int)
    }

    /// The words, in lower case.
    public let words: [String]
    /// The 16 bytes that identify the invitation at a relay.
    public let tag: [UInt8]
    /// The 32 bytes that verify proofs of the code.
    public var publicKey: [UInt8] { key.publicKey }
    private let key: SigningKey

    /// Creates a random code.
    public init() {
        let list = Wordlist.english.words
        var generator = SystemRandomNumberGenerator()
        self.init(
            words: (0..<Self.wordCount).map { _ in
                String(list[Int.random(in: 0..<list.count, using: &generator)])
            })
    }

    /// Parses words separated by spaces, hyphens or line ends, in upper or lower case.
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
        tag = hkdfSHA256(secret, info: "sotto/invitation/v2/tag", count: 16).withBytes { Array($0) }
        key = SigningKey(seed: hkdfSHA256(secret, info: "sotto/invitation/v2/key", count: 32))
    }

    /// Whether two codes have the same words.
    public static func == (a: InvitationCode, b: InvitationCode) -> Bool { a.words == b.words }

    /// Returns the proof of the code for a login whose signed message is `login`.
    func proof(for login: [UInt8]) -> InvitationProof {
        InvitationProof(tag: tag, signature: key.sign(InvitationProof.message(login)))
    }

    /// The words, separated by hyphens.
    public var text: String { words.joined(separator: "-") }
}

/// A login's proof that its owner has an ``InvitationCode``.
public struct InvitationProof: Sendable, Equatable {
    /// The code's tag, 16 bytes.
    public let tag: [UInt8]
    /// The signature of the code's key over ``message(_:)``, 64 bytes.
    public let signature: [UInt8]

    /// Creates a proof from its parts.
    public init(tag: [UInt8], signature: [UInt8]) {
        self.tag = tag
        self.signature = signature
    }

    /// Returns the bytes to sign: `"sotto/invitation/v2\0"`, and the message of the login.
    static func message(_ login: [UInt8]) -> [UInt8] {
        Array("sotto/invitation/v2\0".utf8) + login
    }

    var payload: JSONObject {
        [
            "tag": .base64(tag),
            "signature": .base64(signature),
        ]
    }

    init(_ payload: Fields<FieldError>) throws(FieldError) {
        tag = try payload["tag"].bytes(count: 16)
        signature = try payload["signature"].bytes(count: 64)
    }
}
