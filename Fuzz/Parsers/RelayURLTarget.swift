import SottoWire

extension FuzzTarget {
    /// The address of a relay and an invitation code. Those that are read are written and read back unchanged.
    static let relayURL = FuzzTarget("relay-url") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let url = try? RelayURL(text) {
            precondition((try? RelayURL(url.text)) == url)
            precondition((try? RelayURL(name: url.name))?.name == url.name)
            precondition(url.name.hasPrefix(url.hostHeader))
        }
        if let code = try? InvitationCode(text) {
            precondition((try? InvitationCode(code.text)) == code)
        }
    }
}
