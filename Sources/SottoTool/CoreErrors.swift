import Sotto
public import SottoBytes
import SottoProgram

extension Failure {
    /// Creates the failure for an error of the core, or for an error that ``init(reporting:)`` knows; `nil` for any
    /// other.
    public init?(core error: any Error) {
        switch error {
        case let error as MnemonicError: self.init(error)
        case let error as IdentityError: self.init(error)
        case let error as CardError: self.init(error)
        case let error as Succession.Invalid: self.init(error)
        case let error as Revocation.Invalid: self.init(error)
        case let error as ContactURIError: self.init(error)
        case let error as EnvelopeError: self.init(error)
        case let error as BodyError: self.init(error)
        case let error as AgeError: self.init(error)
        case let error as BlobError: self.init(error)
        case let error as SignedStreamError: self.init(error)
        case let error as SealedError: self.init(error)
        case let error as RatchetError: self.init(error)
        case let error as PreKeyBundleError: self.init(error)
        case let error as SuiteError: self.init(error)
        case let error as ChatError: self.init(error)
        case let error as PhraseError: self.init(error)
        case let error as OpenSSHKeyError: self.init(error)
        case let error as MinisignError: self.init(error)
        case let error as RSAKeyError: self.init(error)
        case let error as ProofOfWorkError: self.init(error)
        case let error as GroupChangeError: self.init(error)
        case let error as GroupChainError: self.init(error)
        case let error as RoomError: self.init(error)
        case let error as MeetingCodeError: self.init(error)
        case let error as DeviceListError: self.init(error)
        case let error as MeetingError: self.init(error)
        default: self.init(reporting: error)
        }
    }

    init(_ error: RecordFormError, of what: String) {
        switch error {
        case .notObject: self.init(.malformed, "\(what) is not one JSON object")
        case .tooDeep(let limit):
            self.init(
                .malformed, "arrays and objects in \(what) nest deeper than \(limit)",
                hint: "ask its author for one without the members that nest")
        case .tooLong(let limit):
            self.init(
                .malformed, "\(what) has more than \(limit) bytes",
                hint: "ask its author for a shorter one")
        case .number:
            self.init(
                .malformed,
                "a number in \(what) is not an integer from -(2^53 - 1) to 2^53 - 1")
        case .canonical:
            self.init(.malformed, "the canonical form of \(what) is not read as the same record")
        }
    }

    init(_ error: MnemonicError) {
        switch error {
        case .wordCount(let count):
            self.init(.malformed, "there are \(count) words instead of 12, 15, 18, 21 or 24")
        case .unknownWord(let position, let suggestion):
            self.init(
                .malformed, "word \(position) is not in the word list",
                hint: suggestion.map { "the nearest word is \"\($0)\"" })
        case .checksum:
            self.init(
                .malformed, "all words are in the list, but their checksum is wrong",
                hint: "check for a wrong word or a wrong order")
        case .ambiguous(let lists):
            self.init(
                .malformed, "the words are in more than one word list",
                hint: "select one with --language "
                    + lists.map(\.rawValue).joined(separator: " or "))
        case .noWords:
            self.init(
                .noKey, "the identity has no recovery words because it was made from a key file",
                hint:
                    "use an identity that sotto keygen made; keys for other messengers are derived from its words"
            )
        }
    }

    init(_ error: IdentityError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not an identity: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the identity has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .inconsistent: self.init(.malformed, "the identity's id does not match its keys")
        }
    }

    init(_ error: CardError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a card: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the card has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "the card's signature does not match its id and content",
                hint: "it was changed in transit; ask for the card again")
        case .form(let error): self.init(error, of: "the card")
        }
    }

    init(_ error: Succession.Invalid) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a succession: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the succession has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "the succession is not signed by both keys",
                hint: "it was changed in transit, or is forged; ask its owner")
        case .form(let error): self.init(error, of: "the succession")
        }
    }

    init(_ error: Revocation.Invalid) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a revocation: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the revocation has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "the revocation is not signed by its id",
                hint: "it was changed in transit, or is forged; scan its sheet again")
        case .form(let error): self.init(error, of: "the revocation")
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

    init(_ error: DeviceListError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a list of devices: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the list of devices has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "the signature of the list of devices does not match its content")
        case .form(let error): self.init(error, of: "the list of devices")
        case .tooMany(let limit):
            self.init(
                .malformed,
                "the list has more than \(limit) devices, which with machine one are \(limit + 1)")
        }
    }

    init(_ error: MeetingCodeError) {
        let form = "a code is a number and three words: 417-orbit-velvet-sunset"
        switch error {
        case .number:
            self.init(
                .malformed, "the code does not begin with a number of three digits or more",
                hint: form)
        case .wordCount(let count):
            self.init(.malformed, "the code has \(counted(count, "word")) instead of 3", hint: form)
        case .unknownWord(let position):
            self.init(
                .malformed, "word \(position) of the code is not in the word list",
                hint: "ask the other person to spell it; nothing was sent")
        case .address:
            self.init(
                .malformed, "the part of the code after @ is not a host, or a host and a port")
        }
    }

    init(_ error: MeetingError) {
        switch error {
        case .share, .proof:
            self.init(
                .mismatch, "the codes differ, or another person tried this meeting; it has ended",
                hint: "begin again with a new code: sotto meet")
        case .order:
            self.init(.malformed, "the record is not the next one of the meeting")
        case .card(let error): self.init(error)
        }
    }

    init(_ error: EnvelopeError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not an envelope: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the envelope has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .suite: self.init(.malformed, "this version does not support the envelope's suite")
        case .form(let error): self.init(error, of: "the envelope")
        }
    }

    init(_ error: BodyError) {
        switch error {
        case .member(let path):
            self.init(.malformed, "the message's body: \"\(path)\" is missing or malformed")
        case .tooLong(let path, let limit):
            self.init(.malformed, "the message's body: \"\(path)\" exceeds its limit of \(limit)")
        case .notContent(let type):
            self.init(.malformed, "the message's body: an edit cannot have the type \(type)")
        case .system:
            self.init(
                .malformed, "the message's body: the type system is only for events of this machine"
            )
        case .form(let error): self.init(error, of: "the message's body")
        }
    }

    init(_ error: AgeError) {
        switch error {
        case .version: self.init(.malformed, "not an age v1 file: it has another version")
        case .headerTooLong:
            self.init(.malformed, "not an age v1 file: its header is too long")
        case .header(let part): self.init(.malformed, "not an age v1 file: malformed \(part)")
        case .armor: self.init(.malformed, "malformed age armor")
        case .noMatch:
            self.init(
                .noKey, "no identity can decrypt this file",
                hint: "it was encrypted for other keys; select another identity with -i")
        case .passphraseNeeded:
            self.init(
                .noKey, "the file is protected by a passphrase",
                hint: "give it with --passphrase @ENV:NAME, @FD:N or @FILE:PATH")
        case .wrongPassphrase: self.init(.noKey, "the passphrase is wrong")
        case .workFactor(let logN):
            self.init(
                .malformed,
                "the passphrase's work factor, 2^\(logN), exceeds the limit or the available memory",
                hint: "use a file with a work factor of at most 2^\(AgeScrypt.maximumLogN)")
        case .headerAuthentication:
            self.init(.authentication, "the header was modified: its authentication failed")
        case .payload:
            self.init(.authentication, "the content was modified: its authentication failed")
        case .truncated: self.init(.authentication, "the file is truncated")
        case .mixedRecipients:
            self.init(
                .usage, "a file cannot have both post-quantum and classic recipients",
                hint: "use --classic to encrypt to the classic key of every card")
        case .noRecipients: self.init(.usage, "no recipients")
        }
    }

    init(_ error: SignedStreamError) {
        switch error {
        case .notSigned: self.init(.authentication, "the content is not signed")
        case .header, .chunk: self.init(.authentication, "the signature is wrong")
        case .truncated: self.init(.authentication, "the signed content is truncated")
        case .trailing: self.init(.authentication, "the signed content is followed by other data")
        }
    }

    /// The limit is that of the encrypted JSON record, in which some characters of a text need more bytes.
    private static func messageTooLong(limit: Int) -> Failure {
        Failure(
            .malformed,
            "the message is too long: an envelope holds \(limit) bytes of JSON, in which a line feed or quotation mark needs two",
            hint:
                "attach it as a file, with --attach FILE, and with --stateless also --blob FILE.blob"
        )
    }

    init(_ error: SealedError) {
        switch error {
        case .payload: self.init(.malformed, "the envelope's payload is malformed")
        case .notForUs:
            self.init(
                .noKey, "the envelope is for another identity", hint: "select the identity with -i")
        case .noMatch: self.init(.noKey, "no key of this identity can decrypt the envelope")
        case .authentication:
            self.init(.authentication, "the envelope was modified: its authentication failed")
        case .tooLong(let limit):
            self = .messageTooLong(limit: limit)
        case .recipient: self.init(.malformed, "the recipient's key is not valid")
        }
    }

    init(_ error: GroupChangeError) {
        switch error {
        case .member(let name):
            self.init(
                .malformed, "not a change of a group: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(.malformed, "the change of a group has the unsupported version \(version)")
        case .form(let error): self.init(error, of: "a change of a group")
        case .signature:
            self.init(.authentication, "the signature of a change of a group is wrong")
        }
    }

    init(_ error: RoomError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not the record of a room: \"\(name)\" is missing or malformed")
        case .signature:
            self.init(.authentication, "the record of the room is not signed by its door")
        case .authentication:
            self.init(.authentication, "the record of the room does not open with this phrase")
        case .tooLong:
            self.init(
                .tryAgain, "the changes before the door are too long for the record of the room",
                hint: "make a new room")
        case .form(let error): self.init(error, of: "the record of the room")
        }
    }

    init(_ error: GroupChainError) {
        switch error {
        case .member(let name):
            self.init(
                .malformed, "not a message of a group: \"\(name)\" is missing or malformed")
        case .chainID:
            self.init(.authentication, "the chain of a group belongs to another member")
        case .copy, .authentication:
            self.init(.authentication, "the message does not authenticate in its group")
        case .signature:
            self.init(.authentication, "the signature of a message of a group is wrong")
        case .noKey:
            self.init(
                .replay, "the message's key was used before or was deleted because of its age")
        case .tooManySkipped:
            self.init(
                .authentication,
                "more than \(GroupChain.maximumSkip) earlier messages of the chain are missing")
        case .ended:
            self.init(.malformed, "the message is after the last one of its chain")
        case .tooLong(let limit):
            self = .messageTooLong(limit: limit)
        }
    }

    init(_ error: RatchetError) {
        switch error {
        case .authentication:
            self.init(
                .authentication, "the message does not authenticate in its session",
                hint:
                    "it was modified, or the state of one side is from a backup; then that side tells the other: sotto contact repair --send"
            )
        case .noKey:
            self.init(
                .replay, "the message's key was used before or was deleted because of its age",
                hint:
                    "a repeated message, or the sender's state is from a backup; ask the sender for a new session"
            )
        case .tooManySkipped:
            self.init(
                .authentication,
                "more than \(Session.maximumSkip) earlier messages are missing, or the message is forged",
                hint:
                    "if they are lost, answer the sender: the session then continues; or ask for a new session, begun with sotto encrypt --new-session"
            )
        case .missingKEM:
            self.init(
                .authentication,
                "the first messages of its chain, which have the ML-KEM part, are missing, or the message is forged",
                hint:
                    "if they are lost, ask the sender for a new session, begun with sotto encrypt --new-session"
            )
        case .counterOverflow:
            self.init(
                .authentication, "the session's message counter is exhausted",
                hint: "begin a new session with a new bundle and sotto encrypt --new-session")
        case .lowOrderKey: self.init(.authentication, "a key in the message is a low-order point")
        case .payload: self.init(.malformed, "the envelope's payload is malformed")
        case .laterKind:
            self.init(
                .malformed, "the session has an unsupported kind", hint: "use a newer sotto")
        case .tooLong(let limit):
            self = .messageTooLong(limit: limit)
        case .shortTTL(let minimum):
            self.init(
                .usage,
                "a message of a session needs a time to live of at least \(minimum) seconds")
        case .cannotSendYet:
            self.init(.noKey, "the session cannot send before its first message was received")
        }
    }

    init(_ error: PreKeyBundleError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not prekeys: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the prekeys have the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .signature:
            self.init(
                .authentication, "a signature of the prekeys is not their owner's",
                hint: "do not use them: they were replaced in transit")
        case .key:
            self.init(
                .authentication, "no session can begin with the prekeys: a key is not valid",
                hint: "do not use them; ask their owner for others")
        case .form(let error): self.init(error, of: "the record of prekeys")
        }
    }

    init(_ error: BlobError) {
        switch error {
        case .tooLong(let limit):
            self.init(
                .malformed, "the file is longer than \(limit) bytes",
                hint: "use -r instead of --to to encrypt it as a separate file")
        case .authentication:
            self.init(
                .authentication, "the attachment is not the one that the message names",
                hint: "it was changed or cut in transit; fetch it again, or ask for it again")
        }
    }

    init(_ error: SuiteError) {
        switch error {
        case .refused:
            self.init(
                .authentication, "the message cannot be opened",
                hint: "it was changed, or the key, the chat or the sender's keys are wrong")
        case .textOnly: self.init(.malformed, "the format carries only text")
        case .tooLong(let limit):
            self.init(
                .malformed, "the message is longer than the suite's limit (\(limit) bytes)",
                hint: "split it, or write a file with -r in place of --to")
        case .noChat:
            self.init(
                .usage, "the suite needs a chat",
                hint: "name its file with --chat; to make one: sotto keygen chat -o family.chat")
        case .severalChats: self.init(.usage, "a message can go to only one chat")
        }
    }

    init(_ error: ChatError) {
        switch error {
        case .member(let name):
            self.init(.malformed, "not a chat: \"\(name)\" is missing or malformed")
        case .version(let version):
            self.init(
                .malformed, "the chat has the unsupported version \(version)",
                hint: "use a newer sotto; this one reads version 1")
        case .inconsistent: self.init(.malformed, "the chat's id does not match its key")
        }
    }

    init(_ error: PhraseError) {
        switch error {
        case .phrase: self.init(.malformed, "the phrase is not UTF-8 text")
        case .memory:
            self.init(.ioError, "256 MiB of memory for the phrase's key are not available")
        case .authentication: self.init(SuiteError.refused)
        }
    }
}
