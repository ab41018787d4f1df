import CSodium
import SottoBytes

/// A reason why a frame cannot be made or read.
public enum PaddingError: Error, Sendable, Equatable {
    /// The scheme does not make frames of this length.
    case length(Int)
    /// The version byte is not 1.
    case version
    /// The padding is longer than the frame.
    case padLength
    /// The ISO/IEC 7816-4 marker is missing.
    case marker
    /// The frame is longer than 2³¹ − 1 bytes.
    case tooLong
}

/// Padded frames that hide the length: `0x01 ‖ plaintext ‖ random ‖ u32be(number of random bytes)`.
///
/// Remove the padding only after the enclosing layer was authenticated.
public enum Padding {
    /// The bytes of a frame other than the plaintext and the random bytes.
    public static let overhead = 5
    /// The frame lengths for plaintexts of up to 65,531 bytes.
    public static let buckets = (0...10).map { 64 << $0 }
    /// The longest frame in bytes.
    public static let limit = Int(Int32.max)

    /// The rule for a frame's length.
    public enum Scheme: String, Sendable, CaseIterable {
        /// The smallest of 64·2^k that fits, up to 65,536; Padmé above.
        case bucket
        /// The next power of two, at least 64.
        case pow2

        /// Returns the length of the frame for `count` bytes of plaintext.
        public func frameLength(_ count: Int) -> Int {
            let least = count + Padding.overhead
            switch self {
            case .bucket: return Padding.buckets.first { $0 >= least } ?? Padding.padme(least)
            case .pow2:
                var total = 64
                while total < least { total <<= 1 }
                return total
            }
        }

        func isFrameLength(_ total: Int) -> Bool {
            switch self {
            case .bucket: Padding.buckets.contains(total) || total > Padding.buckets.last!
            case .pow2: total >= 64 && total & (total - 1) == 0
            }
        }
    }

    /// Returns Padmé's length for `length` bytes (Nikitin et al., PoPETs 2019): at most 12 % more, with a leak of O(log
    /// log n) bits.
    public static func padme(_ length: Int) -> Int {
        guard length > 1 else { return length }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let size = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = 1 << (exponent - size) - 1
        return (length + mask) & ~mask
    }

    /// Returns the frame of `plaintext`. The frame has at most 2³¹ − 1 bytes.
    public static func frame(
        _ plaintext: [UInt8], scheme: Scheme = .bucket
    ) throws(PaddingError) -> [UInt8] {
        guard plaintext.count < limit - overhead else { throw .tooLong }
        let total = scheme.frameLength(plaintext.count)
        guard total <= limit else { throw .tooLong }
        let padLength = total - overhead - plaintext.count
        var frame: [UInt8] = [1]
        frame.reserveCapacity(total)
        frame += plaintext
        frame += publicRandomBytes(padLength)
        frame += UInt32(padLength).bigEndianBytes
        return frame
    }

    /// Returns the plaintext of a frame. The random bytes are not checked.
    public static func unframe(
        _ frame: [UInt8], scheme: Scheme = .bucket
    ) throws(PaddingError) -> [UInt8] {
        guard scheme.isFrameLength(frame.count) else { throw .length(frame.count) }
        guard frame.count <= limit else { throw .tooLong }
        guard frame[0] == 1 else { throw .version }
        let padLength = Int(UInt32(bigEndianBytes: frame.suffix(4))!)
        guard padLength <= frame.count - overhead else { throw .padLength }
        return Array(frame[1..<(frame.count - 4 - padLength)])
    }

    /// Returns the length of the result of ``padISO7816(_:block:)`` for `count` bytes.
    public static func lengthISO7816(_ count: Int, block: Int) -> Int {
        precondition(block > 0)
        return (count / block + 1) * block
    }

    /// Adds ISO/IEC 7816-4 padding to a multiple of `block` bytes: 0x80, then zeros.
    public static func padISO7816(_ message: [UInt8], block: Int) -> [UInt8] {
        let total = lengthISO7816(message.count, block: block)
        return message + [0x80] + [UInt8](repeating: 0, count: total - message.count - 1)
    }

    /// Removes the padding of ``padISO7816(_:block:)``.
    public static func unpadISO7816(
        _ padded: [UInt8], block: Int
    ) throws(PaddingError) -> [UInt8] {
        precondition(block > 0)
        guard !padded.isEmpty, padded.count.isMultiple(of: block) else {
            throw .length(padded.count)
        }
        Sodium.start()
        var length = 0
        guard sodium_unpad(&length, padded, padded.count, block) == 0 else { throw .marker }
        return Array(padded[..<length])
    }
}
