/// The kind of a session. The key agreement decides it, and no session changes its kind.
package enum RatchetKind: Sendable {
    /// Begins with X3DH. Each step has an X25519 exchange.
    case classical
    /// Begins with PQXDH. Each step has an X25519 exchange and an ML-KEM-768 encapsulation.
    case hybrid

    /// The member `ratchet` of the pre-key header of a hybrid session.
    static let hybridName = "kem/v1"

    /// The info of HKDF for SK. Each kind has its own, so that a header that was changed in transit gives another SK.
    var agreementInfo: String {
        switch self {
        case .classical: "ratchet/x3dh/v1"
        case .hybrid: "ratchet-kem-v1_CURVE25519_SHA-256_ML-KEM-1024"
        }
    }
}
