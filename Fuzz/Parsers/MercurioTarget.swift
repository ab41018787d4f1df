import Sotto
import SottoMessengers
import SottoPadding

extension FuzzTarget {
    /// A Mercurio message or key bundle. One that is read is written and read back unchanged.
    static let mercurio = FuzzTarget("mercurio") { bytes in
        guard let record = object(bytes) else { return }
        if let message = try? MercurioMessage(record: record) {
            precondition((try? MercurioMessage(record: message.record)) == message)
            for padding in MercurioPrivateKey.Padding.allCases {
                _ = try? message.open(
                    with: mercurioReader, as: reader.id, padding: padding, allowUnproven: true)
            }
        }
        if let bundle = try? MercurioKeyBundle(record: record) {
            precondition((try? MercurioKeyBundle(record: bundle.record)) == bundle)
        }
        if let bundle = try? MercurioKeyBundle(pinning: record) {
            precondition((try? MercurioKeyBundle(pinning: bundle.record)) == bundle)
            for form in MercurioPublicKey.Form.allCases {
                let other = try? MercurioKeyBundle(pinning: bundle.record(form))
                precondition(other?.id == bundle.id && other?.key == bundle.key)
            }
        }
        if let modulus = record["modulus"]?.string, let exponent = record["exponent"]?.string,
            let key = try? MercurioPublicKey(modulus: modulus, exponent: exponent)
        {
            for form in MercurioPublicKey.Form.allCases {
                let (modulus, exponent) = key.text(form)
                precondition(
                    (try? MercurioPublicKey(modulus: modulus, exponent: exponent)) == key)
            }
            precondition((try? MercurioPublicKey(pem: key.pem)) == key)
        }
    }

    /// An RSA public key in PEM, or the file of a private one: PKCS #8 or PKCS #1, in PEM or DER.
    static let mercurioKey = FuzzTarget("mercurio-key") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let key = try? MercurioPublicKey(pem: text) {
            precondition((try? MercurioPublicKey(pem: key.pem)) == key)
        }
        for key in [try? MercurioPrivateKey(pem: text), try? MercurioPrivateKey(file: bytes)] {
            guard let key else { continue }
            let pem = key.pem().withBytes { String(decoding: $0, as: UTF8.self) }
            precondition((try? MercurioPrivateKey(pem: pem))?.publicKey == key.publicKey)
        }
    }

    private static let mercurioReader: MercurioPrivateKey = {
        do { return try MercurioPrivateKey(bits: 2048) } catch { preconditionFailure("\(error)") }
    }()
}
