/// The content of a code: its segments, each in a mode (ISO/IEC 18004, §7.4).
struct Segments {
    /// The content. The text of a known ECI, and Kanji characters, are in UTF-8; all else is the bytes of the code.
    private var content: [UInt8] = []

    private var bits: BitReader
    private let version: Int
    /// The bytes that were not yet converted, and their ECI.
    private var pending: [UInt8] = []
    private var encoding: TextEncoding?
    /// Whether `%` in the alphanumeric mode means the separator of GS1 (§7.4.8).
    private var hasSeparators = false

    /// Whether the number of an ECI from 16384 on has the length mark of libqrencode.
    private let hasShiftedECI: Bool

    private static let alphanumeric = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8)

    /// Returns the content of the data of a code of a version, 1 to 40, or `nil` if a segment is malformed.
    ///
    /// libqrencode 4.1.1 writes the number of an ECI from 16384 on with `0000 11` instead of `110` before it. Such a code is
    /// read if it has no content otherwise.
    static func content(_ data: [UInt8], version: Int) -> [UInt8]? {
        let usual = Segments(data, version: version, hasShiftedECI: false)?.content
        if let usual, !usual.isEmpty { return usual }
        return Segments(data, version: version, hasShiftedECI: true)?.content ?? usual
    }

    private init?(_ data: [UInt8], version: Int, hasShiftedECI: Bool) {
        bits = BitReader(data)
        self.version = version
        self.hasShiftedECI = hasShiftedECI
        // The end may be cut off if fewer than four bits are left.
        while let mode = bits.take(4), mode != 0 {
            guard takeSegment(mode) else { return nil }
        }
        convert()
    }

    private mutating func takeSegment(_ mode: Int) -> Bool {
        switch mode {
        case 1: return takeNumeric()
        case 2: return takeAlphanumeric()
        case 3:
            // The number of the part, the number of parts, and a parity of a structured append.
            return bits.take(16) != nil
        case 4: return takeBytes()
        case 5:
            hasSeparators = true
            return true
        case 7: return takeECI()
        case 8: return takeKanji()
        case 9:
            hasSeparators = true
            guard let indicator = bits.take(8) else { return false }
            convert()
            // Two digits, or a letter that is 100 more than its code.
            content +=
                indicator >= 100
                ? [UInt8(indicator - 100)]
                : [UInt8(0x30 + indicator / 10), UInt8(0x30 + indicator % 10)]
            return true
        default: return false
        }
    }

    /// Takes the number of characters, whose length depends on the version.
    private mutating func takeCount(_ lengths: (Int, Int, Int)) -> Int? {
        bits.take(version < 10 ? lengths.0 : version < 27 ? lengths.1 : lengths.2)
    }

    private mutating func takeNumeric() -> Bool {
        guard var count = takeCount((10, 12, 14)) else { return false }
        convert()
        while count > 0 {
            let digits = min(count, 3)
            guard let value = bits.take(digits * 3 + 1) else { return false }
            let text = String(value).utf8
            guard text.count <= digits else { return false }
            content += [UInt8](repeating: 0x30, count: digits - text.count) + text
            count -= digits
        }
        return true
    }

    private mutating func takeAlphanumeric() -> Bool {
        guard var count = takeCount((9, 11, 13)) else { return false }
        convert()
        var text: [UInt8] = []
        while count > 0 {
            let isPair = count > 1
            guard let value = bits.take(isPair ? 11 : 6), value < (isPair ? 45 * 45 : 45) else {
                return false
            }
            if isPair { text.append(Self.alphanumeric[value / 45]) }
            text.append(Self.alphanumeric[value % 45])
            count -= isPair ? 2 : 1
        }
        content += hasSeparators ? Self.separated(text) : text
        return true
    }

    /// Replaces `%` by the separator of GS1, and `%%` by `%`.
    private static func separated(_ text: [UInt8]) -> [UInt8] {
        let percent = UInt8(ascii: "%")
        var (result, place) = ([UInt8](), 0)
        while place < text.count {
            let isPercent = text[place] == percent
            let isDouble = isPercent && place + 1 < text.count && text[place + 1] == percent
            result.append(isPercent && !isDouble ? 0x1D : text[place])
            place += isDouble ? 2 : 1
        }
        return result
    }

    private mutating func takeBytes() -> Bool {
        guard let count = takeCount((8, 16, 16)) else { return false }
        for _ in 0..<count {
            guard let byte = bits.take(8) else { return false }
            pending.append(UInt8(byte))
        }
        return true
    }

    private mutating func takeKanji() -> Bool {
        guard let count = takeCount((8, 10, 12)) else { return false }
        convert()
        var characters: [UInt8] = []
        for _ in 0..<count {
            guard let value = bits.take(13) else { return false }
            let packed = (value / 0xC0) << 8 | value % 0xC0
            let code = packed + (packed < 0x1F00 ? 0x8140 : 0xC140)
            characters += [UInt8(code >> 8 & 0xFF), UInt8(code & 0xFF)]
        }
        content += TextEncoding.shiftJIS.utf8(of: characters) ?? characters
        return true
    }

    /// Takes the number of an ECI, one to three bytes with the length in the first bits.
    private mutating func takeECI() -> Bool {
        guard let first = bits.take(8) else { return false }
        let number: Int?
        switch first {
        case 0x0C...0x1B where hasShiftedECI:
            number = bits.take(16).map { (first << 16 | $0) - 0xC0000 }
        case ..<0x80: number = first
        case ..<0xC0: number = bits.take(8).map { (first & 0x3F) << 8 | $0 }
        case ..<0xE0: number = bits.take(16).map { (first & 0x1F) << 16 | $0 }
        default: number = nil
        }
        guard let number else { return false }
        convert()
        encoding = TextEncoding(eci: number)
        return true
    }

    /// Adds the pending bytes to the content: as UTF-8 if their ECI is known and they are valid in it.
    private mutating func convert() {
        guard !pending.isEmpty else { return }
        content += encoding?.utf8(of: pending) ?? pending
        pending.removeAll()
    }
}

/// Reads numbers from bits, the highest first.
struct BitReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes a number of `count` bits, or returns `nil` if fewer are left.
    mutating func take(_ count: Int) -> Int? {
        guard place + count <= bytes.count * 8 else { return nil }
        var value = 0
        for _ in 0..<count {
            value = value << 1 | Int(bytes[place / 8] >> (7 - place % 8) & 1)
            place += 1
        }
        return value
    }
}
