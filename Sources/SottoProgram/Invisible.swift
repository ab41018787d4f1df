extension Unicode.Scalar {
    /// Whether a name must not contain the character: control characters, bidirectional formatting, line ends, unusual
    /// spaces, and characters without a visible form. The two joiners (U+200C, U+200D) are allowed because some scripts
    /// need them.
    public var isInvisible: Bool {
        switch value {
        case 0x20..<0x7F, 0x200C, 0x200D: false
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                true
            case .spaceSeparator: self != " " && self != "\u{3000}"
            default: properties.isDefaultIgnorableCodePoint && value < 0xFE00
            }
        }
    }
}
