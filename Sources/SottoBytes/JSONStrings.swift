/// Finds the bytes of a JSON text that are outside its strings. The syntax is not checked.
public struct JSONStrings: Sendable {
    private var isInside = false
    private var isEscaped = false

    /// Begins at the start of a text.
    public init() {}

    /// Takes the next byte. Returns whether it is outside strings; a quotation mark is not.
    public mutating func isOutside(_ byte: UInt8) -> Bool {
        guard isInside else {
            isInside = byte == UInt8(ascii: "\"")
            return !isInside
        }
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInside = false
        }
        return false
    }
}
