import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TLSFiles {
    /// Checks that the files can be served. Returns the seconds until the certificate expires, negative if it has.
    ///
    /// Throws ``RelayError/tls(_:)`` for files that cannot be read or do not belong together, and for a certificate
    /// that is not valid yet.
    public func secondsLeft() throws(RelayError) -> Double {
        _ = try TLSCertificate(self)
        let now = Date()
        let leaf: Certificate
        do {
            let text = try String(contentsOfFile: certificate, encoding: .utf8)
            guard let first = try PEMDocument.parseMultiple(pemString: text).first else {
                throw RelayError.tls(.noCertificate(certificate))
            }
            leaf = try Certificate(pemDocument: first)
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls(.unreadable(certificate))
        }
        guard leaf.notValidBefore <= now else {
            throw .tls(.notYetValid(certificate))
        }
        return leaf.notValidAfter.timeIntervalSince(now)
    }
}
