/// Returns `text` as a word of the shell, quoted if necessary.
public func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D...0x2F, 0x40, 0x5F, 0x80...: true
        default: false
        }
    }
    return isPlain && !text.isEmpty
        ? text
        : "'"
            + text.split(separator: "'", omittingEmptySubsequences: false).joined(
                separator: "'\\''") + "'"
}
