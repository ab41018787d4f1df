@_spi(_Unicode) import Swift

/// The text in Unicode's Normalization Form C (UAX #15).
public func nfc(_ text: String) -> String {
    // The standard library has it, and so far only its own modules are meant to see it. Foundation's is
    // not in FoundationEssentials.
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
}

/// Whether the text is in Normalization Form C, so that ``nfc(_:)`` gives the same bytes.
public func isNFC(_ text: String) -> Bool { nfc(text).isSameBytes(as: text) }
