import Glibc
public import NIOSSL
import Sotto

/// The reason for which a certificate is not trusted.
public enum CertificateFlaw: Sendable, Equatable {
    /// The certificate expired on a day, or that of the authority that signed it.
    case expired(String, authority: String?)
    /// The certificate is valid from a later day on.
    case notYetValid(String)
    /// The certificate is for other names than the host, of which up to eight are given.
    case otherName(host: String, names: [String])
    /// The certificate is signed by its own key.
    case selfSigned
    /// The server sent only its own certificate, and the issuer with this name is not trusted.
    case missingIssuer(String)
    /// The server sent a chain that ends at an authority which is not trusted.
    case unknownAuthority(String)
    /// The reason is not known.
    case unknown

    /// Finds the flaw of a chain that a server at `host` sent and that was refused. `authorities` are the trusted certificates,
    /// if they are known.
    public init(
        of chain: [NIOSSLCertificate], host: String, authorities: [NIOSSLCertificate], at now: Int64
    ) {
        let links = chain.compactMap { CertificateNames($0) }
        guard let leaf = chain.first, let first = links.first, let last = links.last,
            links.count == chain.count
        else {
            self = .unknown
            return
        }
        var names = leaf.hosts
        if names.isEmpty { names = [CertifiedHost(text: first.subjectName, address: nil)] }
        guard names.contains(where: { $0.matches(host) }) else {
            self = .otherName(host: host, names: names.prefix(8).map(\.text))
            return
        }
        let anchor = authorities.first { CertificateNames($0)?.subject == last.issuer }
        for (number, certificate) in (chain + [anchor].compactMap(\.self)).enumerated() {
            if Int64(certificate.notValidBefore) > now {
                self = .notYetValid(Self.day(certificate.notValidBefore))
                return
            }
            guard Int64(certificate.notValidAfter) >= now else {
                let authority = number == 0 ? nil : CertificateNames(certificate)?.subjectName
                self = .expired(Self.day(certificate.notValidAfter), authority: authority)
                return
            }
        }
        if anchor != nil {
            self = .unknown
        } else if chain.count == 1 {
            self =
                first.subject == first.issuer ? .selfSigned : .missingIssuer(first.issuerName)
        } else {
            self = .unknownAuthority(last.issuerName)
        }
    }

    private static func day(_ time: time_t) -> String {
        String(Timestamp(seconds: Int64(time)).description.prefix(10))
    }
}

/// A host name or an address in a certificate.
private struct CertifiedHost {
    let text: String
    /// The bytes of an address, or `nil` for a name.
    let address: [UInt8]?

    /// Whether it covers a host. A `*` stands for the first label (RFC 6125 §6.4.3).
    func matches(_ host: String) -> Bool {
        if let address { return Self.bytes(of: host) == address }
        let (pattern, host) = (text.lowercased(), host.lowercased())
        guard pattern.hasPrefix("*.") else { return pattern == host }
        guard let dot = host.firstIndex(of: ".") else { return false }
        return host[dot...] == pattern.dropFirst()
    }

    /// Returns the bytes of an address, or `nil` for another text.
    static func bytes(of text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var address = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &address) == 1 { return address }
        }
        return nil
    }

    /// Returns the text of an address of 4 or 16 bytes.
    static func text(of address: [UInt8]) -> String? {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = address.count == 4 ? AF_INET : AF_INET6
        guard [4, 16].contains(address.count),
            inet_ntop(family, address, &text, socklen_t(text.count)) != nil
        else { return nil }
        return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}

extension NIOSSLCertificate {
    /// The hosts of the certificate.
    fileprivate var hosts: [CertifiedHost] {
        _subjectAlternativeNames().compactMap { name -> CertifiedHost? in
            let contents = Array(name.contents)
            switch name.nameType {
            case .dnsName:
                return CertifiedHost(text: printable(contents), address: nil)
            case .ipAddress:
                return CertifiedHost.text(of: contents).map {
                    CertifiedHost(text: $0, address: contents)
                }
            default: return nil
            }
        }
    }
}

/// The subject and the issuer of an X.509 certificate (RFC 5280 §4.1), as encoded names.
private struct CertificateNames {
    let subject: [UInt8]
    let issuer: [UInt8]

    init?(_ certificate: NIOSSLCertificate) {
        guard let bytes = try? certificate.toDERBytes() else { return nil }
        // Certificate and TBSCertificate are sequences. The version is optional, with the tag [0].
        var outer = DERItems(bytes[...])
        var middle = DERItems(outer.next()?.content ?? [])
        var items = DERItems(middle.next()?.content ?? [])
        var all: [[UInt8]] = []
        while let item = items.next() { if item.tag != 0xA0 { all.append(Array(item.content)) } }
        // The serial number, the algorithm, the issuer, the validity and the subject.
        guard all.count >= 5 else { return nil }
        (issuer, subject) = (all[2], all[4])
    }

    var subjectName: String { Self.text(subject) }
    var issuerName: String { Self.text(issuer) }

    /// Returns the common name of a name, else its organization.
    private static func text(_ name: [UInt8]) -> String {
        var found: [UInt8: [UInt8]] = [:]
        var sets = DERItems(name[...])
        while let set = sets.next() {
            var attributes = DERItems(set.content)
            while let attribute = attributes.next() {
                var parts = DERItems(attribute.content)
                // id-at (2.5.4): 3 is the common name, 10 the organization.
                guard let type = parts.next()?.content, type.count == 3, let value = parts.next(),
                    Array(type.prefix(2)) == [0x55, 0x04], let kind = type.last
                else { continue }
                found[kind] = Array(value.content)
            }
        }
        return (found[3] ?? found[10]).map(printable) ?? "without a name"
    }
}

/// The elements of a DER value (X.690 §8.1).
private struct DERItems {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the next element, or `nil` at the end or at a malformed one.
    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), var length = rest.popFirst().map({ Int($0) }) else {
            return nil
        }
        guard length != 0x80 else { return nil }
        if length > 0x80 {
            let count = length - 0x80
            guard count <= 3, rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }
}

/// Returns the beginning of a text of another person, without control characters.
private func printable(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes.prefix(100), as: UTF8.self)
    return String(
        String.UnicodeScalarView(
            text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
}
