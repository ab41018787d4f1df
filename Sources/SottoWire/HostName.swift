import Glibc
import Sotto

/// The host of a relay in the one form in which it is compared and signed: lower case, and the usual text of an IP address.
struct HostName: Sendable, Hashable {
    /// The text, without brackets.
    let text: String

    private init(text: String) { self.text = text }

    /// Creates the name of a host or of the text of an IP address.
    init(_ host: some StringProtocol) {
        let host = host.lowercased()
        self.init(text: Self.literal(v6: host) ?? Self.literal(v4: host) ?? host)
    }

    /// Reads a host as it stands in a URL, an IPv6 address in brackets.
    init(inURL host: some StringProtocol) throws(RelayURL.Invalid) {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inner = host.dropFirst().dropLast().lowercased()
            guard !inner.contains("%") else { throw .zone }
            guard let literal = Self.literal(v6: inner) else { throw .form }
            self.init(text: literal)
            return
        }
        guard !host.isEmpty, !host.contains(":") else { throw .form }
        let other = host.unicodeScalars.first { scalar in
            switch scalar {
            case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_": false
            default: true
            }
        }
        if let other { throw .character(other) }
        self.init(host)
    }

    /// Returns the usual text of an IPv6 address (RFC 5952), or that of the IPv4 address which is mapped into it
    /// (RFC 4291 §2.5.5.2); `nil` for another text.
    private static func literal(v6 text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        let mapping = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        if bytes.starts(with: mapping) {
            return bytes[12...].map(String.init).joined(separator: ".")
        }
        var buffer = [UInt8](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = buffer.withUnsafeMutableBytes { buffer in
            inet_ntop(
                AF_INET6, &address, buffer.bindMemory(to: CChar.self).baseAddress,
                socklen_t(buffer.count)) != nil
        }
        return isWritten ? String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) : nil
    }

    /// Returns the usual text of an IPv4 address in any form that the system's resolver accepts, such as `127.1`; `nil`
    /// for another text.
    private static func literal(v4 text: String) -> String? {
        guard let first = text.utf8.first, (0x30...0x39).contains(first) else { return nil }
        var address = in_addr()
        guard inet_aton(text, &address) != 0 else { return nil }
        return withUnsafeBytes(of: &address) { $0.map { String($0) }.joined(separator: ".") }
    }
}

extension RelayURL.Invalid {
    /// What is wrong with the address, to follow `the relay address`.
    public var reason: String {
        switch self {
        case .form: "is not of the form scheme://host:port"
        case .scheme(let scheme): "has the scheme \(scheme):, which is not supported"
        case .pin: "has #sha256= without TLS or without 64 hexadecimal digits"
        case .character(let scalar):
            "contains \(Self.name(of: scalar))"
                + (scalar.isASCII ? "" : "; write the host in ASCII, as xn--…")
        case .zone: "has an IPv6 zone, the part after %, which is not supported"
        }
    }

    private static func name(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let code = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        switch scalar {
        case " ": return "a space"
        case "\t": return "a tab"
        case "\r": return "a carriage return"
        case "\n": return "a line feed"
        case "!"..."~": return "the character \(scalar)"
        default: return scalar.properties.isAlphabetic ? "the letter \(scalar) (\(code))" : code
        }
    }
}
