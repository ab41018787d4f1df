import Sotto

/// What the errors of other messengers' keys and codes say.
extension Failure {
    init(_ error: OpenSSHKeyError) {
        switch error {
        case .form: self.init(.malformed, "not an OpenSSH private key, or a damaged one")
        case .protection(let names):
            self.init(
                .malformed,
                "the OpenSSH key is protected by \(Terminal.escapingControls(names)), which is not supported",
                hint: "protect it by aes256-ctr, with ssh-keygen -p -Z aes256-ctr")
        case .wrongPassphrase:
            self.init(.noKey, "the passphrase does not open the OpenSSH key")
        case .type(let type):
            self.init(
                .malformed,
                "an OpenSSH key of type \(Terminal.escapingControls(type)), where only ssh-ed25519 serves",
                hint: "make one: ssh-keygen -t ed25519")
        case .inconsistent:
            self.init(.malformed, "the halves of the OpenSSH key do not belong together")
        }
    }

    init(_ error: MinisignError) {
        switch error {
        case .form: self.init(.malformed, "not a signature in minisign's format")
        case .legacy:
            self.init(
                .malformed, "a legacy signature, not over the file's hash",
                hint: "have it signed anew, by encrypt --detached or by minisign 0.10 or newer")
        case .comment(let limit):
            self.init(
                .usage, "a trusted comment has at most \(limit) bytes and no control characters")
        case .signature:
            self.init(
                .authentication, "the signature does not belong to the file",
                hint: "the file or the signature was changed, or they are of different files")
        case .trustedComment:
            self.init(.authentication, "the trusted comment of the signature was changed")
        }
    }

    init(_ error: ECP1Error) {
        switch error {
        case .form: self.init(.malformed, "not an ECP1 key file")
        case .version: self.init(.malformed, "a key file of another version than ECP1")
        case .tooLong(let limit):
            self.init(.malformed, "a key file has at most \(limit) bytes")
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
                .noKey, "the RSA key is under a password",
                hint: "give it as @ENV:NAME, @FD:N or @FILE:PATH")
        case .notEncrypted:
            self.init(
                .usage, "the RSA key is not under a password, and one is given",
                hint: "leave the password out")
        case .scheme:
            self.init(
                .malformed, "the RSA key is encrypted in another way than the one that is read",
                hint:
                    "PBES2 with PBKDF2-HMAC-SHA256 and AES-256-CBC, as openssl pkcs8 -topk8 makes it"
            )
        case .rounds(let limit):
            self.init(.malformed, "the RSA key's password takes more than \(limit) rounds")
        case .password: self.init(.noKey, "the password is wrong, or the RSA key is damaged")
        case .size(let bits):
            self.init(.malformed, "an RSA key of \(bits) bits, which does not serve here")
        case .challenge:
            self.init(
                .malformed, "a challenge has exactly \(RSALoginKey.challengeSize) bytes",
                hint: "raw, or a line of base64 or hexadecimal")
        }
    }

    init(_ error: MercurioKeyError) {
        switch error {
        case .encoding: self.init(.malformed, "not an RSA key in PEM of PKCS #8")
        case .size(let bits):
            self.init(
                .malformed, "an RSA key of \(bits) bits, where 2048 or 3072 are expected")
        case .exponent: self.init(.malformed, "the RSA key's public exponent is not 65537")
        }
    }

    init(_ error: MercurioKeyBundleError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a key of Mercurio: \"\(name)\" is missing or malformed")
        case .key(let error): self.init(error)
        case .signature:
            self.init(.authentication, "the key of Mercurio is not signed by its Session ID")
        }
    }

    init(_ error: Whisper2ChallengeError) {
        switch error {
        case .message:
            self.init(
                .malformed, "the challenge is the beginning of a message: the answer would sign it",
                hint: "a server that asks for this forges messages")
        case .size(let count):
            self.init(
                .malformed,
                "\(count) bytes, where a challenge has exactly \(Whisper2Keys.challengeSize)",
                hint: "a longer answer could be a signature under a message")
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
            self.init(.malformed, "not a record of Whisper2: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(.malformed, "a record of Whisper2 of version \(version)")
        case .recipientCount(let count):
            self.init(.malformed, "a group message to \(count) members")
        case .duplicateRecipient:
            self.init(.malformed, "a member of the group occurs twice")
        }
    }

    init(_ error: KecalekQRError) {
        switch error {
        case .version: self.init(.malformed, "not a Kecalek code: its first byte is not 1")
        case .length:
            self.init(
                .malformed, "not a Kecalek code: its length is not the one that it says",
                hint: "zbarimg changes it without -Sbinary; qr scan does not")
        case .userID:
            self.init(.malformed, "a Kecalek user's id has 1 to 255 bytes of UTF-8")
        case .key: self.init(.malformed, "the key in the Kecalek code is not valid")
        }
    }

    init(_ error: ProofOfWorkError) {
        switch error {
        case .difficulty(let limit):
            self.init(.usage, "a proof of work has 0 to \(limit) bits")
        }
    }
}
