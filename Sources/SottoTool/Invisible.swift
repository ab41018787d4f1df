extension Unicode.Scalar {
    /// Whether a name that people compare cannot have it: control characters, those that turn the direction of text,
    /// line ends, other spaces than the usual, and what nobody sees. The two joiners are letters' business in some
    /// scripts, and stay.
    public var isInvisible: Bool {
        switch value {
        case 0x200C, 0x200D: false
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
