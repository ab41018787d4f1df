/// A reason to refuse a text as the code of a meeting.
public enum MeetingCodeError: Error, Sendable, Equatable {
    /// The text does not begin with a number of three to nine digits and a hyphen or a space.
    case number
    /// The code has `count` words instead of three.
    case wordCount(Int)
    /// The word at `position`, from 1, is not in the list.
    case unknownWord(position: Int)
    /// The part after `@` is not `HOST` or `HOST:PORT`.
    case address
}

/// The spoken code of a meeting, such as `417-orbit-velvet-sunset` or `417-orbit-velvet-sunset@relay.example.org`: the number
/// of a place at a relay, three words of the English BIP 39 list, and, for users of other relays, the address of the
/// relay.
///
/// The words have 33 bits. They are the password of one exchange, and are never used again.
public struct MeetingCode: ~Copyable, Sendable {
    /// The number of the place, at least 100.
    public let number: Int64
    /// `HOST` or `HOST:PORT`, or `nil` for the relay of the user.
    public let address: String?
    /// The words in lower case, joined by hyphens.
    let password: SecretBytes

    /// The number of words.
    public static let wordCount = 3
    /// The separator of the words in the password.
    private static let separator = UInt8(ascii: "-")
    /// The numbers of places.
    public static let numbers: ClosedRange<Int64> = 100...999_999_999

    /// Creates a code with random words for the place `number`.
    public init(randomFor number: Int64) {
        self.init(
            number: number, address: nil,
            password: Wordlist.english.randomPhrase(
                wordCount: Self.wordCount, separator: Self.separator))
    }

    private init(number: Int64, address: String?, password: consuming SecretBytes) {
        self.number = number
        self.address = address
        self.password = password
    }

    /// Reads a code as a person types it: hyphens, spaces and the case of letters do not matter.
    public init(parsing text: String) throws(MeetingCodeError) {
        let text = Pasted.text(text)
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = parts[0].prefix { ("0"..."9").contains($0) }
        let rest = parts[0].dropFirst(digits.count)
        guard digits.utf8.count <= 9, let number = Int64(digits), Self.numbers.contains(number),
            digits.first != "0", rest.isEmpty || rest.first == "-" || rest.first == " "
        else { throw .number }
        var address: String?
        if parts.count > 1 {
            let isHost = parts[1].utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }
            guard !parts[1].isEmpty, isHost, !parts[1].contains("@") else { throw .address }
            address = String(parts[1])
        }
        let words = rest.split { "- ".contains($0) }
        guard words.count == Self.wordCount else { throw .wordCount(words.count) }
        let known = Wordlist.english.places
        var places: [Int] = []
        places.reserveCapacity(Self.wordCount)
        defer { places.withUnsafeMutableBytes { wipe($0) } }
        for (position, word) in words.enumerated() {
            guard let place = known[TypedWords.key(word)] else {
                throw .unknownWord(position: position + 1)
            }
            places.append(place)
        }
        self.init(
            number: number, address: address,
            password: Wordlist.english.phrase(of: places, separator: Self.separator))
    }

    /// Returns the code as it is spoken. With `address`, it is the form for users of other relays.
    public borrowing func text(address: String? = nil) -> String {
        let words = password.withBytes { String(decoding: $0, as: UTF8.self) }
        return "\(number)-\(words)" + (address.map { "@\($0)" } ?? "")
    }
}
