/// Returns whether bytes are text: UTF-8 without control characters other than tab, line feed and carriage return.
/// Binary keys and records are practically never text.
func isText(_ bytes: [UInt8]) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return text.utf8.allSatisfy { byte in
        switch byte {
        case 0x09, 0x0A, 0x0D: true
        case 0..<0x20, 0x7F: false
        default: true
        }
    }
}
