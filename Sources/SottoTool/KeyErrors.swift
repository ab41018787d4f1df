import Sotto

/// The failures for errors of keys in other programs' forms.
extension Failure {
    init(_ error: OpenSSHKeyError) {
        switch error {
        case .form: self.init(.malformed, "not an OpenSSH private key, or it is damaged")
        case .protection(let names):
            self.init(
                .malformed,
                "the OpenSSH key is encrypted with \(Terminal.escapingControls(names)), which is not supported",
                hint: "encrypt it with aes256-ctr: run ssh-keygen -p -Z aes256-ctr -f FILE")
        case .wrongPassphrase:
            self.init(.noKey, "the passphrase of the OpenSSH key is wrong")
        case .type(let type):
            self.init(
                .malformed,
                "the OpenSSH key has the type \(Terminal.escapingControls(type)), but only ssh-ed25519 is supported",
                hint: "create one: ssh-keygen -t ed25519")
        case .inconsistent:
            self.init(.malformed, "the public and private parts of the OpenSSH key do not match")
        }
    }

    init(_ error: MinisignError) {
        switch error {
        case .form: self.init(.malformed, "not a signature in minisign's format")
        case .legacy:
            self.init(
                .malformed, "a legacy signature that does not cover the file's hash",
                hint:
                    "ask for a new signature, made with sotto encrypt --detached or minisign 0.10 or newer"
            )
        case .comment(let limit):
            self.init(
                .usage,
                "a trusted comment must have at most \(limit) bytes and no control characters")
        case .signature:
            self.init(
                .authentication, "the signature does not match the file",
                hint:
                    "the file or the signature was modified, or the signature is for a different file"
            )
        case .trustedComment:
            self.init(.authentication, "the trusted comment of the signature was modified")
        }
    }

    init(_ error: RSAKeyError) {
        switch error {
        case .form:
            self.init(.malformed, "not an RSA private key of PKCS #8 or PKCS #1, in PEM or DER")
        case .encrypted:
            self.init(
                .noKey, "the RSA key is protected by a password",
                hint: "give the password as @ENV:NAME, @FD:N or @FILE:PATH")
        case .notEncrypted:
            self.init(
                .usage, "a password is given, but the RSA key has none",
                hint: "omit the password")
        case .scheme:
            self.init(
                .malformed, "the encryption of the RSA key is not supported",
                hint:
                    "use PBES2 with PBKDF2-HMAC-SHA256 and AES-256-CBC, as made by openssl pkcs8 -topk8"
            )
        case .rounds(let limit):
            self.init(.malformed, "the RSA key's password has more than \(limit) PBKDF2 rounds")
        case .password: self.init(.noKey, "the password is wrong, or the RSA key is damaged")
        case .size(let bits):
            self.init(.malformed, "RSA keys of \(bits) bits are not supported here")
        case .challenge:
            self.init(
                .malformed, "a challenge must have exactly \(RSALoginKey.challengeSize) bytes",
                hint: "give it as raw bytes, or as a line of base64 or hexadecimal")
        }
    }

    init(_ error: ProofOfWorkError) {
        switch error {
        case .difficulty(let limit):
            self.init(.usage, "a proof of work must have 0 to \(limit) bits")
        }
    }
}
