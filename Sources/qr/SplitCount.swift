import Arguments
import SottoBytes
import SottoQR
import SottoProgram

/// The number of codes of `--split`.
enum SplitCount: ExpressibleByArgument {
    /// The number that leaves at most ``CodePart/usualSize`` bytes for each code.
    case auto
    case exactly(Int)

    init?(argument: String) {
        if argument == "auto" {
            self = .auto
        } else if let count = Int(argument), 1...CodePart.maximumCount ~= count {
            self = .exactly(count)
        } else {
            return nil
        }
    }

    /// Returns the bytes of each code of a set, including the header.
    func codes(of bytes: [UInt8], level: ErrorCorrection) throws(Failure) -> [[UInt8]] {
        guard !bytes.isEmpty else { throw Failure(QREncodeError.empty) }
        let count: Int
        switch self {
        case .auto: count = (bytes.count + CodePart.usualSize - 1) / CodePart.usualSize
        case .exactly(let number): count = number
        }
        guard count <= bytes.count else {
            throw Failure(
                .malformed, "\(bytes.count) bytes are too few for \(count) parts",
                hint: "use a smaller --split")
        }
        let room = EncodingMode.byte.capacity(at: level) - CodePart.headerSize
        guard count <= CodePart.maximumCount, bytes.count <= count * room else {
            let needed = (bytes.count + room - 1) / room
            throw Failure(
                .malformed, "\(bytes.count) bytes do not fit into \(count) codes",
                hint: needed <= CodePart.maximumCount
                    ? "use --split \(needed)"
                    : "\(CodePart.maximumCount) codes of level \(level.rawValue) hold at most "
                        + "\(CodePart.maximumCount * room) bytes")
        }
        return CodePart.split(bytes, into: count).map(\.code)
    }
}
