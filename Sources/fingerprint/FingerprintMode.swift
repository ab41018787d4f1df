import Arguments

/// The ways to use `fingerprint`, with the options of each. An option that a mode does not list is refused in it.
enum FingerprintMode: String, CommandMode {
    case show = ""
    case check = "--check"

    var title: String { self == .show ? "showing numbers" : rawValue }

    var takes: String {
        let own: String =
            switch self {
            case .show: "--words --randomart --qr"
            case .check: "--check -q"
            }
        return
            "--with --style --key --user --with-key --with-user -i --identity-passphrase --json <card> \(own)"
    }
}

extension FingerprintTool {
    /// The mode that the options select.
    var mode: FingerprintMode { check == nil ? .show : .check }
}
