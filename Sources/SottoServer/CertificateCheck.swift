import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TLSFiles {
    /// Whether the files can be served, and the seconds until the certificate ends; negative when it has.
    ///
    /// Throws ``RelayError/tls(_:)`` for files that cannot be read or do not belong together, and for a certificate
    /// whose time has not begun.
    public func secondsLeft() throws(RelayError) -> Double {
        _ = try TLSCertificate(self)
        let now = Date()
        let leaf: Certificate
        do {
            let text = try String(contentsOfFile: certificate, encoding: .utf8)
            guard let first = try PEMDocument.parseMultiple(pemString: text).first else {
                throw RelayError.tls("\(certificate) holds no certificate")
            }
            leaf = try Certificate(pemDocument: first)
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls("the certificate \(certificate) cannot be read")
        }
        guard leaf.notValidBefore <= now else {
            throw .tls("the time of the certificate \(certificate) has not begun")
        }
        return leaf.notValidAfter.timeIntervalSince(now)
    }
}
