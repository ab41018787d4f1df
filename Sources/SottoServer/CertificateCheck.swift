import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whether a certificate is valid now.
public enum CertificateValidity: Sendable, Equatable {
    /// The certificate becomes valid later.
    case notYet
    /// The certificate expires after this many days.
    case valid(days: Int)
    /// The certificate has expired.
    case expired

    /// The days before the expiry from which on an operator is warned.
    private static let warningDays = 14

    /// The problem for an operator, or `nil`.
    public var problem: String? {
        switch self {
        case .notYet: "it is not valid yet"
        case .expired: "it has expired"
        case .valid(let days) where days < Self.warningDays: "it expires in \(days) days"
        case .valid: nil
        }
    }
}

extension TLSFiles {
    /// Checks that the files can be served, and whether the certificate is valid now.
    ///
    /// Throws ``RelayError/tls(_:)`` for files that cannot be read or do not belong together.
    public func validity() throws(RelayError) -> CertificateValidity {
        _ = try TLSCertificate(self)
        let now = Date()
        let leaf = try leaf()
        guard leaf.notValidBefore <= now else { return .notYet }
        let seconds = leaf.notValidAfter.timeIntervalSince(now)
        return seconds < 0 ? .expired : .valid(days: Int(seconds / 86_400))
    }

    /// Whether the certificate names itself as its issuer: then no authority signed it, and clients must pin it.
    public func isSelfSigned() throws(RelayError) -> Bool {
        let leaf = try leaf()
        return leaf.issuer == leaf.subject
    }

    private func leaf() throws(RelayError) -> Certificate {
        do {
            let text = try String(contentsOfFile: certificate, encoding: .utf8)
            guard let first = try PEMDocument.parseMultiple(pemString: text).first else {
                throw RelayError.tls(.noCertificate(certificate))
            }
            return try Certificate(pemDocument: first)
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls(.unreadable(certificate))
        }
    }
}
