import Sotto

extension Failure {
    /// The failure for an error of the core, or `nil` for an error from elsewhere.
    public init?(core error: any Error) {
        switch error {
        case let error as JSONError: self.init(error)
        case let error as MnemonicError: self.init(error)
        case let error as IdentityError: self.init(error)
        case let error as CardError: self.init(error)
        case let error as ContactURIError: self.init(error)
        case let error as EnvelopeError: self.init(error)
        case let error as AgeError: self.init(error)
        case let error as SignedStreamError: self.init(error)
        case let error as SealedError: self.init(error)
        case let error as RatchetError: self.init(error)
        case let error as PreKeyBundleError: self.init(error)
        case let error as PaddingError: self.init(error)
        case let error as ChatError: self.init(error)
        case let error as PhraseError: self.init(error)
        case let error as ECP1Error: self.init(error)
        case let error as OpenSSHKeyError: self.init(error)
        case let error as MinisignError: self.init(error)
        case let error as RSAKeyError: self.init(error)
        case let error as MercurioKeyError: self.init(error)
        case let error as MercurioKeyBundleError: self.init(error)
        case let error as Whisper2ChallengeError: self.init(error)
        case let error as Whisper2AddURLError: self.init(error)
        case let error as Whisper2RecordError: self.init(error)
        case let error as KecalekQRError: self.init(error)
        case let error as ProofOfWorkError: self.init(error)
        case let error as any ReportableError: self.init(error)
        default: return nil
        }
    }

    init(_ error: JSONError) {
        switch error {
        case .malformed(let offset): self.init(.malformed, "not JSON (byte \(offset))")
        case .invalidText(let offset):
            self.init(.malformed, "text that is not UTF-8 (byte \(offset))")
        case .duplicateMember(let offset):
            self.init(.malformed, "a JSON member occurs twice (byte \(offset))")
        case .tooDeep(let offset):
            self.init(.malformed, "JSON nested deeper than \(JSON.maximumDepth) (byte \(offset))")
        case .numberOutOfRange(let offset):
            self.init(.malformed, "a JSON number out of range (byte \(offset))")
        }
    }

    init(_ error: MnemonicError) {
        switch error {
        case .wordCount(let count):
            self.init(.malformed, "\(count) words, where 12, 15, 18, 21 or 24 are expected")
        case .unknownWord(let position, let suggestion):
            self.init(
                .malformed, "word \(position) is not in the word list",
                hint: suggestion.map { "the nearest word is \"\($0)\"" })
        case .checksum:
            self.init(
                .malformed, "the words are all in the list, but their checksum is wrong",
                hint: "look for a word that was exchanged or moved")
        case .ambiguous(let lists):
            self.init(
                .malformed, "the words are in more than one list",
                hint: "name it: --language " + lists.map(\.rawValue).joined(separator: " or "))
        case .noWords:
            self.init(
                .noKey, "the identity has no words: it came from a key file",
                hint: "what other messengers derive from words needs an identity that keygen made")
        }
    }

    init(_ error: IdentityError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not an identity: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "an identity of version \(version)",
                hint: "it was made by a newer sotto; this one reads version 1")
        case .inconsistent: self.init(.malformed, "the identity's id does not belong to its keys")
        }
    }

    init(_ error: CardError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a card: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "a card of version \(version)",
                hint: "it was made by a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "the card's signature does not belong to its id and content",
                hint: "it was changed on its way; ask for it again")
        case .profile:
            self.init(
                .authentication,
                "the card names an account in another messenger that does not prove to be its owner's",
                hint: "its owner makes it anew with keygen public")
        }
    }

    init(_ error: ContactURIError) {
        switch error {
        case .scheme: self.init(.malformed, "not a sotto: URI")
        case .id: self.init(.malformed, "the URI's id is malformed")
        case .x25519: self.init(.malformed, "the URI's key is missing or malformed")
        case .duplicate(let name):
            self.init(.malformed, "the URI's parameter \"\(name)\" occurs twice")
        case .encoding(let name):
            self.init(.malformed, "the URI's parameter \"\(name)\" is malformed")
        }
    }

    init(_ error: EnvelopeError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not an envelope: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "an envelope of version \(version)",
                hint: "it was made by a newer sotto; this one reads version 1")
        case .suite: self.init(.malformed, "an envelope of a suite that this version does not have")
        }
    }

    init(_ error: AgeError) {
        switch error {
        case .version: self.init(.malformed, "not an age v1 file: it is of another version")
        case .headerTooLong:
            self.init(.malformed, "not an age v1 file: its header is too long")
        case .header(let part): self.init(.malformed, "not an age v1 file: malformed \(part)")
        case .armor: self.init(.malformed, "malformed age armor")
        case .noMatch:
            self.init(
                .noKey, "no identity opens this file",
                hint: "it was encrypted for other keys; give yours with -i")
        case .passphraseNeeded:
            self.init(
                .noKey, "the file is protected by a passphrase",
                hint: "give it with --passphrase @ENV:NAME, @FD:N or @FILE:PATH")
        case .wrongPassphrase: self.init(.noKey, "the passphrase is wrong")
        case .workFactor(let logN):
            self.init(
                .malformed,
                "the passphrase's work factor, 2^\(logN), needs more than is allowed or there",
                hint: "at most 2^\(AgeScrypt.maximumLogN) is read")
        case .headerAuthentication:
            self.init(.authentication, "the header was changed: its authentication failed")
        case .payload:
            self.init(.authentication, "the content was changed: its authentication failed")
        case .truncated: self.init(.authentication, "the file ends early")
        case .mixedRecipients:
            self.init(
                .usage, "post-quantum and classic recipients cannot share a file",
                hint: "--classic takes every card's classic key")
        case .noRecipients: self.init(.usage, "no recipients")
        }
    }

    init(_ error: SignedStreamError) {
        switch error {
        case .notSigned: self.init(.authentication, "the content is not signed")
        case .header, .chunk: self.init(.authentication, "the signature is wrong")
        case .truncated: self.init(.authentication, "the signed content ends early")
        case .trailing: self.init(.authentication, "something follows the signed content")
        }
    }

    /// The limit is that of the record which is sealed: JSON, in which some characters of a text are longer.
    private static func messageTooLong(limit: Int) -> Failure {
        Failure(
            .malformed,
            "the message is too long: an envelope carries \(limit) bytes of JSON, in which a line feed or a quotation mark has two",
            hint:
                "attach it with --attach FILE --blob FILE.blob, or make it a file with -r in place of --to"
        )
    }

    init(_ error: SealedError) {
        switch error {
        case .payload: self.init(.malformed, "the envelope's payload is malformed")
        case .notForUs:
            self.init(.noKey, "the envelope is for another identity", hint: "choose yours with -i")
        case .noMatch: self.init(.noKey, "no key of this identity opens the envelope")
        case .authentication:
            self.init(.authentication, "the envelope was changed: its authentication failed")
        case .tooLong(let limit):
            self = .messageTooLong(limit: limit)
        case .recipient: self.init(.malformed, "the recipient's key is not valid")
        }
    }

    init(_ error: RatchetError) {
        switch error {
        case .authentication:
            self.init(
                .authentication, "the session refuses the message: its authentication failed",
                hint: "it was changed, or one side's state is from a backup")
        case .noKey:
            self.init(
                .replay, "the message's key was used before, or is older than what is kept",
                hint:
                    "a repeat, or the sender's state is from a backup: let them begin a new session"
            )
        case .tooManySkipped:
            self.init(
                .authentication,
                "more than \(Session.maximumSkip) messages before it are missing, or it is forged",
                hint:
                    "if they are lost, answer: from then on it goes on; or ask for a new session, which encrypt --new-session begins"
            )
        case .counterOverflow:
            self.init(
                .authentication, "the session's counter is at its end",
                hint: "begin a new session with a fresh bundle and encrypt --new-session")
        case .lowOrderKey: self.init(.authentication, "a key in it is of low order")
        case .payload: self.init(.malformed, "the envelope's payload is malformed")
        case .tooLong(let limit):
            self = .messageTooLong(limit: limit)
        case .cannotSendYet:
            self.init(.noKey, "the session cannot send before its first message has come")
        }
    }

    init(_ error: PreKeyBundleError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not prekeys: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "prekeys of version \(version)",
                hint: "they were made by a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "a signature over the prekeys is not by their owner",
                hint: "do not use them: somebody exchanged them on their way")
        }
    }

    init(_ error: ChatError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a chat: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "a chat of version \(version)",
                hint: "it was made by a newer sotto; this one reads version 1")
        case .inconsistent: self.init(.malformed, "the chat's id does not belong to its key")
        }
    }

    init(_ error: PhraseError) {
        switch error {
        case .phrase: self.init(.malformed, "the phrase is not UTF-8 text")
        case .memory:
            self.init(.ioError, "there are not 256 MiB of memory for the phrase's key")
        case .authentication: self.init(SuiteError.refused)
        }
    }

    init(_ error: any ReportableError) {
        self.init(ExitStatus(rawValue: error.status) ?? .bug, error.message, hint: error.hint)
    }

    init(_ error: PaddingError) {
        switch error {
        case .length(let count): self.init(.malformed, "\(count) bytes are no padded length")
        case .version, .padLength, .marker: self.init(.malformed, "the padding is malformed")
        case .tooLong: self.init(.malformed, "the input is longer than 2^31 - 1 bytes")
        }
    }
}
