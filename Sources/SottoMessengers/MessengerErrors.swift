public import SottoBytes
import SottoTool

// MARK: Kecalek's groups

extension SenderKeyError: FailureError {
    /// The message, the hint and the exit status.
    package var failure: Failure {
        switch self {
        case .payload, .chainID:
            Failure(.malformed, "not a message or a key chain of a Kecalek group")
        case .tooLong(let limit):
            Failure(.malformed, "the message is longer than \(limit) bytes")
        case .counterOverflow: Failure(.usage, "the group's key chain has no more keys")
        case .chain, .signature, .authentication, .noKey, .tooManySkipped:
            Failure(.authentication, "the message cannot be opened")
        }
    }
}

// MARK: Keys and codes

extension ECP1Error: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .form: Failure(.malformed, "not an ECP1 key file")
        case .version: Failure(.malformed, "the key file has another version than ECP1")
        case .tooLong(let limit):
            Failure(.malformed, "the key file is longer than \(limit) bytes")
        case .authentication:
            Failure(.noKey, "the password is wrong, or the key file is damaged")
        }
    }
}

extension MercurioKeyError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .encoding: Failure(.malformed, "not an RSA key in PKCS #8 PEM format")
        case .size(let bits):
            Failure(
                .malformed, "the RSA key has \(bits) bits instead of 2048 or 3072")
        case .exponent: Failure(.malformed, "the RSA key's public exponent is not 65537")
        }
    }
}

extension MercurioKeyBundleError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .member(let name):
            Failure(.malformed, "not a Mercurio key: \"\(name)\" is missing or malformed")
        case .key(let error): error.failure
        case .signature:
            Failure(.authentication, "the Mercurio key is not signed by its Session ID")
        }
    }
}

extension Whisper2ChallengeError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .message:
            Failure(
                .malformed,
                "the challenge looks like the beginning of a message, which the answer would sign",
                hint: "do not answer: the server may be trying to forge a message")
        case .size(let count):
            Failure(
                .malformed,
                "the challenge has \(count) bytes instead of \(Whisper2Keys.challengeSize)",
                hint: "do not sign it: a longer answer could be the signature of a message")
        }
    }
}

extension Whisper2AddURLError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .scheme: Failure(.malformed, "not a whisper2://add URL")
        case .id: Failure(.malformed, "the URL's WhisperID is missing or malformed")
        case .key: Failure(.malformed, "the URL's key is missing or not valid")
        case .signingKey: Failure(.malformed, "the URL's signing key is not valid")
        case .duplicate: Failure(.malformed, "a parameter of the URL occurs twice")
        case .encoding: Failure(.malformed, "a parameter of the URL is malformed")
        }
    }
}

extension Whisper2RecordError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .member(let name):
            Failure(.malformed, "not a Whisper2 record: \"\(name)\" is missing or malformed")
        case .version(let version):
            Failure(.malformed, "the Whisper2 record has the unsupported version \(version)")
        case .recipientCount(let count):
            Failure(.malformed, "a group message cannot have \(count) members")
        case .duplicateRecipient:
            Failure(.malformed, "a member of the group occurs twice")
        }
    }
}

extension KecalekQRError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .version: Failure(.malformed, "not a Kecalek code: its first byte is not 1")
        case .length:
            Failure(
                .malformed, "not a Kecalek code: its length differs from its length field",
                hint: "use sotto qr scan, or zbarimg with -Sbinary, which does not change the bytes"
            )
        case .userID:
            Failure(.malformed, "a Kecalek user id must have 1 to 255 bytes of UTF-8")
        case .key: Failure(.malformed, "the key in the Kecalek code is not valid")
        }
    }
}

extension ProfileError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .malformed:
            Failure(.malformed, "not a card: \"profiles\" is missing or malformed")
        case .unproven:
            Failure(
                .authentication,
                "the card names an account in another messenger without a valid proof of ownership",
                hint: "ask its owner for a new card, made with sotto bridge card")
        }
    }
}

// MARK: Messages

extension MessageFlowError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .member(let name):
            Failure(
                .malformed, "not a Message Flow record: \"\(name)\" is missing or malformed")
        case .version: Failure(.malformed, "the file has a later version")
        case .payload: Failure(.malformed, "the envelope's payload is malformed")
        }
    }
}

extension MessengerError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .textOnly: Failure(.malformed, "the format carries only text")
        case .tooLong(let limit):
            Failure(
                .malformed, "the message is longer than the format's limit (\(limit) bytes)",
                hint: "split it, or write a file with sotto encrypt -r")
        case .noProfile(let profile):
            Failure(
                .noKey, "the recipient's \(profile.rawValue) keys are not known",
                hint:
                    "ask the recipient for a card with these keys: sotto bridge card \(profile.rawValue)"
            )
        case .noWhisperID:
            Failure(
                .noKey, "your WhisperID is not known",
                hint: "give it with --whisper-id WSP-XXXX-XXXX-XXXX")
        case .noRSAKey:
            Failure(
                .noKey, "the identity has no RSA key",
                hint: "create one and store it in the identity: sotto bridge set --rsa 3072")
        case .noShainyKey:
            Failure(
                .noKey, "the chat file has no key for SHAiny",
                hint: "create one with the same phrase: sotto bridge chat -o shainy.chat")
        case .publicChannel:
            Failure(
                .usage, "everyone can read this channel, so nothing in it is confidential",
                hint: "to write to it anyway: --public-channel")
        case .secretID:
            Failure(
                .usage, "the messenger's record contains the chat's key as the chat's id",
                hint: "to write it anyway: --show-secret")
        case .recipientKey: Failure(.malformed, "the recipient's key is not valid")
        case .memberCount(let limit):
            Failure(.usage, "a group message needs 1 to \(limit) recipients")
        case .duplicateMember: Failure(.usage, "a member of the group is named twice")
        case .field(let name): Failure(.usage, "\(name) is malformed for this format")
        }
    }
}
