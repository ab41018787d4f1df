@_spi(_Unicode) import Swift

/// Returns the text in Unicode's Normalization Form C (UAX #15).
public func nfc(_ text: String) -> String {
    // The standard library has this function for its own modules only. FoundationEssentials does not have Foundation's.
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
}

/// Whether the text is in Normalization Form C, so that ``nfc(_:)`` does not change its bytes.
public func isNFC(_ text: String) -> Bool { nfc(text).isSameBytes(as: text) }
