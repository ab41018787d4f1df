import Sotto
import SottoPadding

extension FuzzTarget {
    /// A padded frame of each scheme. The bytes are also padded and unpadded.
    static let padding = FuzzTarget("padding") { bytes in
        for scheme in Padding.Scheme.allCases {
            _ = try? Padding.unframe(bytes, scheme: scheme)
            guard let frame = try? Padding.frame(bytes, scheme: scheme) else { continue }
            precondition((try? Padding.unframe(frame, scheme: scheme)) == bytes)
        }
        _ = try? Padding.unpadISO7816(bytes, block: 16)
        precondition(
            (try? Padding.unpadISO7816(Padding.padISO7816(bytes, block: 16), block: 16)) == bytes)
    }
}
