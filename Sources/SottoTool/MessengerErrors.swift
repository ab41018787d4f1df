import Sotto

/// The failures for errors of other messengers' keys and codes.
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
                    "ask for a new signature, made with encrypt --detached or minisign 0.10 or newer"
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

    init(_ error: ECP1Error) {
        switch error {
        case .form: self.init(.malformed, "not an ECP1 key file")
        case .version: self.init(.malformed, "the key file has another version than ECP1")
        case .tooLong(let limit):
            self.init(.malformed, "the key file is longer than \(limit) bytes")
        case .authentication:
            self.init(.noKey, "the password is wrong, or the key file is damaged")
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

    init(_ error: MercurioKeyError) {
        switch error {
        case .encoding: self.init(.malformed, "not an RSA key in PKCS #8 PEM format")
        case .size(let bits):
            self.init(
                .malformed, "the RSA key has \(bits) bits instead of 2048 or 3072")
        case .exponent: self.init(.malformed, "the RSA key's public exponent is not 65537")
        }
    }

    init(_ error: MercurioKeyBundleError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a Mercurio key: \"\(name)\" is missing or malformed")
        case .key(let error): self.init(error)
        case .signature:
            self.init(.authentication, "the Mercurio key is not signed by its Session ID")
        }
    }

    init(_ error: Whisper2ChallengeError) {
        switch error {
        case .message:
            self.init(
                .malformed,
                "the challenge looks like the beginning of a message, which the answer would sign",
                hint: "do not answer: the server may be trying to forge a message")
        case .size(let count):
            self.init(
                .malformed,
                "the challenge has \(count) bytes instead of \(Whisper2Keys.challengeSize)",
                hint: "do not sign it: a longer answer could be the signature of a message")
        }
    }

    init(_ error: Whisper2AddURLError) {
        switch error {
        case .scheme: self.init(.malformed, "not a whisper2://add URL")
        case .id: self.init(.malformed, "the URL's WhisperID is missing or malformed")
        case .key: self.init(.malformed, "the URL's key is missing or not valid")
        case .signingKey: self.init(.malformed, "the URL's signing key is not valid")
        case .duplicate: self.init(.malformed, "a parameter of the URL occurs twice")
        case .encoding: self.init(.malformed, "a parameter of the URL is malformed")
        }
    }

    init(_ error: Whisper2RecordError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a Whisper2 record: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(.malformed, "the Whisper2 record has the unsupported version \(version)")
        case .recipientCount(let count):
            self.init(.malformed, "a group message cannot have \(count) members")
        case .duplicateRecipient:
            self.init(.malformed, "a member of the group occurs twice")
        }
    }

    init(_ error: KecalekQRError) {
        switch error {
        case .version: self.init(.malformed, "not a Kecalek code: its first byte is not 1")
        case .length:
            self.init(
                .malformed, "not a Kecalek code: its length differs from its length field",
                hint: "use qr scan, or zbarimg with -Sbinary, which does not change the bytes")
        case .userID:
            self.init(.malformed, "a Kecalek user id must have 1 to 255 bytes of UTF-8")
        case .key: self.init(.malformed, "the key in the Kecalek code is not valid")
        }
    }

    init(_ error: ProofOfWorkError) {
        switch error {
        case .difficulty(let limit):
            self.init(.usage, "a proof of work must have 0 to \(limit) bits")
        }
    }
}
