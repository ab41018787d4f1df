public import NIOSSL

extension TLSConfiguration {
    /// Allows only TLS 1.3, and TLS 1.2 with ephemeral key exchange and authenticated encryption.
    ///
    /// It excludes suites with CBC, SHA-1 or RSA key exchange, and signatures over SHA-1. Both ends of a connection
    /// use it.
    public mutating func allowModernSuitesOnly() {
        minimumTLSVersion = .tlsv12
        cipherSuiteValues = Self.modernSuites
        verifySignatureAlgorithms = Self.modernSignatures
        signingSignatureAlgorithms = Self.modernSignatures
    }

    /// The suites of TLS 1.2; those of TLS 1.3 are all modern and cannot be configured.
    private static let modernSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ]

    private static let modernSignatures: [SignatureAlgorithm] = [
        .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384,
        .rsaPssRsaeSha384, .rsaPkcs1Sha384, .ecdsaSecp521R1Sha512, .rsaPssRsaeSha512,
        .rsaPkcs1Sha512, .ed25519,
    ]
}
