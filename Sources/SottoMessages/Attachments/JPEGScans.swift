import SottoContacts
import Sotto

/// The scans of a sequential JPEG file with Huffman codes (ISO/IEC 10918-1, annex F): finds where their data ends.
///
/// Telephones append films and texts to a picture, some of them without the marker that ends it. Only the codes themselves
/// then tell which bytes belong to the picture.
struct JPEGScans {
    /// The end of a copied scan.
    enum End {
        /// All data of the scan was copied; with `isLast`, that of the picture.
        case whole(isLast: Bool)
        /// The data is not that of a sequential scan from here on.
        case unknown
    }

    private struct Component {
        let id: UInt8
        let width: Int
        let height: Int
    }

    private struct Frame {
        let width: Int
        let height: Int
        let components: [Component]

        /// Reads the content of a frame header (§B.2.2).
        init?(_ content: [UInt8]) {
            guard content.count >= 6, content.count >= 6 + 3 * Int(content[5]) else { return nil }
            height = Int(content[1]) << 8 | Int(content[2])
            width = Int(content[3]) << 8 | Int(content[4])
            components = (0..<Int(content[5])).map { place in
                let factors = content[7 + 3 * place]
                return Component(
                    id: content[6 + 3 * place], width: Int(factors >> 4), height: Int(factors & 15))
            }
            guard width > 0, height > 0, !components.isEmpty,
                components.allSatisfy({ 1...4 ~= $0.width && 1...4 ~= $0.height })
            else { return nil }
        }

        private var mostWide: Int { components.map(\.width).max() ?? 1 }
        private var mostHigh: Int { components.map(\.height).max() ?? 1 }

        /// Returns the number of units in a scan of `scanned`, and of blocks of each component in a unit.
        func units(_ scanned: [Component]) -> (count: Int, blocks: [Int]) {
            func parts(_ length: Int, _ size: Int) -> Int { (length + size - 1) / size }
            guard scanned.count == 1, let only = scanned.first else {
                return (
                    parts(width, 8 * mostWide) * parts(height, 8 * mostHigh),
                    scanned.map { $0.width * $0.height }
                )
            }
            let (across, down) = (
                parts(width * only.width, mostWide), parts(height * only.height, mostHigh)
            )
            return (parts(across, 8) * parts(down, 8), [1])
        }
    }

    private var frame: Frame?
    private var tables: [UInt8: HuffmanTable] = [:]
    private var restartInterval = 0
    private var scanned: Set<UInt8> = []

    /// Takes the content of a segment.
    mutating func take(_ marker: UInt8, _ content: [UInt8]) {
        switch marker {
        case 0xC0, 0xC1: frame = Frame(content)
        case 0xC4: takeTables(content)
        case 0xDD where content.count == 2:
            restartInterval = Int(content[0]) << 8 | Int(content[1])
        default: break
        }
    }

    private mutating func takeTables(_ content: [UInt8]) {
        var rest = content[...]
        while rest.count > 17, let id = rest.popFirst() {
            let counts = rest.prefix(16).map { Int($0) }
            let values = rest.dropFirst(16).prefix(counts.reduce(0, +))
            tables[id] = HuffmanTable(counts, Array(values))
            rest = rest[values.endIndex...]
        }
    }

    /// Copies the data of the scan with this header. Throws ``PictureMetadata/Malformed`` if the file ends before it.
    mutating func copy(
        _ header: [UInt8], from input: PictureInput, to sink: any ByteSink
    ) throws -> End {
        guard let frame, let count = header.first, header.count == 4 + 2 * Int(count) else {
            return .unknown
        }
        var parts: [(component: Component, first: HuffmanTable, others: HuffmanTable)] = []
        for place in 0..<Int(count) {
            let (id, selected) = (header[1 + 2 * place], header[2 + 2 * place])
            guard let component = frame.components.first(where: { $0.id == id }),
                let first = tables[selected >> 4], let others = tables[0x10 | selected & 15]
            else { return .unknown }
            parts.append((component, first, others))
        }
        let units = frame.units(parts.map(\.component))
        var bits = ScanBits(input)
        for unit in 0..<units.count {
            if restartInterval > 0, unit > 0, unit % restartInterval == 0 {
                guard try bits.takeRestart() else { return try bits.end(to: sink, .unknown) }
            }
            for (part, blocks) in zip(parts, units.blocks) {
                for _ in 0..<blocks {
                    guard try bits.takeBlock(part.first, part.others) else {
                        return try bits.end(to: sink, .unknown)
                    }
                }
            }
            try bits.flush(to: sink)
        }
        scanned.formUnion(parts.map(\.component.id))
        return try bits.end(to: sink, .whole(isLast: scanned.count == frame.components.count))
    }
}

/// A table of Huffman codes (ISO/IEC 10918-1, §F.2.2.3).
private struct HuffmanTable {
    /// For each length from 1: the highest code, or -1 without codes, and the difference of its value's place.
    private var limits: [(highest: Int, offset: Int)] = []
    private let values: [UInt8]

    init(_ counts: [Int], _ values: [UInt8]) {
        self.values = values
        var (code, place) = (0, 0)
        for count in counts {
            limits.append(count == 0 ? (-1, 0) : (code + count - 1, place - code))
            (code, place) = ((code + count) << 1, place + count)
        }
    }

    /// Takes a code and returns its value, or `nil` if there is no such code.
    func take(_ bits: inout ScanBits) throws -> UInt8? {
        var code = 0
        for (highest, offset) in limits {
            guard let bit = try bits.take() else { return nil }
            code = code << 1 | bit
            guard code > highest else {
                let place = code + offset
                return values.indices.contains(place) ? values[place] : nil
            }
        }
        return nil
    }
}

/// The bits of a scan. The bytes that were read are kept for the copy, and no byte is read before it is needed.
private struct ScanBits {
    private let input: PictureInput
    private var copied: [UInt8] = []
    private var byte: UInt8 = 0
    private var left = 0

    init(_ input: PictureInput) { self.input = input }

    /// Returns the next bit, or `nil` before a marker, which is read again after the scan.
    mutating func take() throws -> Int? {
        if left == 0 {
            byte = try input.byte()
            if byte == 0xFF {
                let next = try input.byte()
                guard next == 0 else {
                    input.unread([0xFF, next])
                    return nil
                }
                copied.append(0xFF)
                copied.append(0)
            } else {
                copied.append(byte)
            }
            left = 8
        }
        left -= 1
        return Int(byte >> UInt8(left) & 1)
    }

    /// Takes the codes of 64 coefficients (§F.2.2). Returns `false` for data that is no block.
    mutating func takeBlock(_ first: HuffmanTable, _ others: HuffmanTable) throws -> Bool {
        guard let size = try first.take(&self), size <= 16, try skip(Int(size)) else {
            return false
        }
        var coefficient = 1
        while coefficient < 64 {
            guard let value = try others.take(&self) else { return false }
            let (zeros, size) = (Int(value >> 4), Int(value & 15))
            // A size of zero ends the block, or is a run of sixteen zeros.
            if size == 0, zeros != 15 { return true }
            coefficient += zeros + 1
            guard try skip(size) else { return false }
        }
        return coefficient == 64
    }

    private mutating func skip(_ count: Int) throws -> Bool {
        for _ in 0..<count { guard try take() != nil else { return false } }
        return true
    }

    /// Takes a restart marker at the next byte.
    mutating func takeRestart() throws -> Bool {
        left = 0
        var bytes = [try input.byte()]
        guard bytes[0] == 0xFF else {
            input.unread(bytes)
            return false
        }
        bytes.append(try input.byte())
        guard 0xD0...0xD7 ~= bytes[1] else {
            input.unread(bytes)
            return false
        }
        copied += bytes
        return true
    }

    /// Writes the bytes that were read, if they are many.
    mutating func flush(to sink: any ByteSink) throws {
        if copied.count >= 32 << 10 { try write(to: sink) }
    }

    /// Writes the bytes that were read, and returns `end`.
    mutating func end(to sink: any ByteSink, _ end: JPEGScans.End) throws -> JPEGScans.End {
        try write(to: sink)
        return end
    }

    private mutating func write(to sink: any ByteSink) throws {
        try sink.write(copied)
        copied.removeAll(keepingCapacity: true)
    }
}
