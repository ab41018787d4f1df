import Glibc

extension RelayURL {
    /// Whether the host is a name or an address inside the user's own network: this machine, a private or link-local address
    /// (RFC 1918, RFC 4193, RFC 6598), a multicast address, one for tests (RFC 2544), an IPv4 address inside an IPv6 address
    /// (RFC 3056, RFC 4291, RFC 4380, RFC 6052, RFC 8215), or a name that only a local resolver knows. The host of a public
    /// name can still have such an address.
    public var isInOwnNetwork: Bool {
        if let address = Self.bytes(of: host, AF_INET) ?? Self.bytes(of: host, AF_INET6) {
            return Self.isInOwnNetwork(address)
        }
        let labels = host.lowercased().split(separator: ".")
        guard labels.count > 1, let last = labels.last else { return true }
        return Self.ownDomains.contains(String(last)) || labels.suffix(2) == ["home", "arpa"]
    }

    /// Whether an address of 4 or 16 bytes is inside the own network, as above. An IPv4 address that is mapped into an IPv6
    /// address (RFC 4291 §2.5.5.2) counts as itself.
    private static func isInOwnNetwork(_ address: [UInt8]) -> Bool {
        guard address.count == 16 else { return ownNetworks4.contains { $0.contains(address) } }
        if address.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]) {
            return isInOwnNetwork(Array(address[12...]))
        }
        return ownNetworks6.contains { $0.contains(address) }
    }

    /// Whether mail that waits for the relay at `former` may go to this address when its recipient's later card names it:
    /// not without TLS in place of TLS, and not into the user's own network from another host. On the same host the port can
    /// differ: a relay in the own network moves to another port or to TLS.
    public func mayFollow(_ former: RelayURL?) -> Bool {
        if let former, former.scheme.isSecure, !scheme.isSecure { return false }
        return !isInOwnNetwork || former?.host == host
    }

    /// An address and the number of its bits that all addresses of a network share.
    private struct Network {
        let address: [UInt8]
        let bits: Int

        func contains(_ other: [UInt8]) -> Bool {
            (0..<bits).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                let own = bit / 8 < address.count ? address[bit / 8] : 0
                return own & mask == other[bit / 8] & mask
            }
        }
    }

    private static let ownNetworks4 = [
        Network(address: [0], bits: 8), Network(address: [10], bits: 8),
        Network(address: [100, 64], bits: 10), Network(address: [127], bits: 8),
        Network(address: [169, 254], bits: 16), Network(address: [172, 16], bits: 12),
        Network(address: [192, 0, 0], bits: 24), Network(address: [192, 168], bits: 16),
        Network(address: [198, 18], bits: 15), Network(address: [224], bits: 3),
    ]
    private static let ownNetworks6 = [
        Network(address: [], bits: 96), Network(address: [0x20, 0x01, 0, 0], bits: 32),
        Network(address: [0x20, 0x02], bits: 16),
        Network(address: [0x00, 0x64, 0xFF, 0x9B], bits: 96),
        Network(address: [0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01], bits: 48),
        Network(address: [0xFC], bits: 7), Network(address: [0xFE, 0x80], bits: 10),
        Network(address: [0xFE, 0xC0], bits: 10), Network(address: [0xFF], bits: 8),
    ]
    /// Domains that no public resolver answers for.
    private static let ownDomains: Set<String> = [
        "local", "localhost", "localdomain", "lan", "home", "internal", "intranet", "corp",
        "private",
    ]

    private static func bytes(of host: String, _ family: Int32) -> [UInt8]? {
        var address = in6_addr()
        guard inet_pton(family, host, &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { Array($0.prefix(family == AF_INET ? 4 : 16)) }
    }
}
