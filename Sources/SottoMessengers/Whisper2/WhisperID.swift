public import Sotto

/// The id of a Whisper2 account, `WSP-XXXX-XXXX-XXXX` in base32 (RFC 4648 §6): ten random symbols and two checksum
/// symbols.
///
/// The server assigns it and maps it to keys; it is not derived from a key. It proves nothing: the server can exchange
/// the keys, so pin them.
public struct WhisperID: Sendable, Hashable, CustomStringConvertible {
    /// The 18 characters.
    public let description: String

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Reads exactly 18 characters in upper case, or returns `nil` for any other text. The checksum is not verified:
    /// see ``isChecksumValid``.
    public init?(_ text: some StringProtocol) {
        let characters = Array(text.utf8)
        guard characters.count == 18, characters.starts(with: "WSP-".utf8) else { return nil }
        for (index, character) in characters.enumerated().dropFirst(4) {
            guard
                index == 8 || index == 13
                    ? character == UInt8(ascii: "-") : Self.alphabet.contains(character)
            else { return nil }
        }
        description = String(text)
    }

    /// Creates the id of ten symbols, each 0 to 31, with its checksum.
    public init(symbols: [UInt8]) {
        precondition(symbols.count == 10 && symbols.allSatisfy { $0 < 32 })
        var characters = Array("WSP".utf8)
        for (index, symbol) in (symbols + Self.checksum(symbols)).enumerated() {
            if index.isMultiple(of: 4) { characters.append(UInt8(ascii: "-")) }
            characters.append(Self.alphabet[Int(symbol)])
        }
        description = String(decoding: characters, as: UTF8.self)
    }

    /// The id of a contact whose signing key is not known. It is not a key; see ``KeyID/init(account:of:)``.
    public var accountID: KeyID {
        KeyID(account: description, of: Profile.whisper2.rawValue)
    }

    /// Whether the last two symbols are the checksum of the first ten.
    ///
    /// The checksum detects a wrong symbol, but not exchanged symbols, because a XOR and a sum do not depend on order.
    /// The apps do not verify it, so a wrong checksum is worth only a warning unless the caller is strict.
    public var isChecksumValid: Bool {
        let symbols = description.utf8.dropFirst(4).compactMap { character in
            Self.alphabet.firstIndex(of: character).map { UInt8($0) }
        }
        return Array(symbols[10...]) == Self.checksum(Array(symbols[..<10]))
    }

    private static func checksum(_ symbols: [UInt8]) -> [UInt8] {
        [symbols.reduce(0, ^), UInt8(symbols.reduce(0) { $0 + Int($1) } % 32)]
    }
}
