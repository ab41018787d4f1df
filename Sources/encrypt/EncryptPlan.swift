import Arguments
import Sotto
import SottoMessages
import SottoOpenSSL
import SottoState
import SottoTool

/// A validated command line of `encrypt`.
enum EncryptPlan {
    case file(AgeEncryption)
    case message(MessageEncryption)
    case detached(DetachedSigning)

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: EncryptTool) throws {
        let mode = tool.mode
        if tool.stateless {
            for option in ["--lock-timeout", "--elsewhere"] {
                try tool.given.refuse(option, with: "--stateless")
            }
        }
        if tool.passphrase != nil { try tool.given.refuse("-p", with: "--passphrase") }
        let read =
            tool.identity.files + tool.recipient + tool.recipientsFile + tool.to
            + tool.session.bundle
            + [tool.chat, tool.passphrase?.path].compactMap(\.self) + tool.attachment.attach
        try Output.check(tool.output, isNoneOf: read)
        switch mode {
        case .recipients: self = .file(try Self.toRecipients(tool))
        case .passphrase:
            self = .file(try Self.file(tool, .passphrase(tool.passphrase), namesContact: false))
        case .detached:
            self = .detached(
                DetachedSigning(
                    identity: tool.identity.choice, trustedComment: tool.trustedComment,
                    file: tool.file,
                    output: tool.output, quiet: tool.quiet))
        case .records, .mailboxes, .group, .chat, .chatMailboxes:
            self = .message(
                MessageEncryption(
                    target: try Self.target(tool, mode),
                    messages: try tool.attachment.messages(
                        perLine: tool.jsonl || mode == .records, file: tool.file,
                        isNoneOf: read + [tool.file].compactMap(\.self),
                        output: tool.output,
                        announcer: tool.quiet ? nil : EncryptTool.toolName,
                        form: .chunks(OpenSSLChunkCipher()),
                        uploads: mode == .chat || tool.stateless
                            ? nil : { try BlobFolder(directory: .standard()) }),
                    file: try tool.attachment.textFile(tool.file), output: tool.output,
                    isElsewhere: tool.elsewhere, allowsSecrets: tool.attachment.anyway,
                    records: tool.records))
        }
    }

    func run() throws {
        switch self {
        case .file(let encryption): try encryption.run()
        case .message(let encryption): try encryption.run()
        case .detached(let signing): try signing.run()
        }
    }

    // MARK: Files

    private static func toRecipients(_ tool: EncryptTool) throws -> AgeEncryption {
        let namesContact = tool.recipient.contains(where: RecipientArgument.isName)
        if !namesContact {
            try tool.given.refuse("--lock-timeout", with: "-r or -R unless -r names a contact")
            if !tool.sign {
                try tool.given.refuse("--identity-passphrase", with: "-r without -s")
            }
            // The contacts decide whether a card may be used, but not about a key without an identity.
            if tool.recipientsFile.isEmpty, tool.recipient.allSatisfy(RecipientArgument.isBareKey) {
                try tool.given.refuse("--stateless", with: "bare keys")
            }
        }
        return try file(
            tool,
            .recipients(
                FileRecipients(
                    cards: tool.recipient, lists: tool.recipientsFile, isClassic: tool.classic,
                    identity: tool.identity.choice, lockTimeout: tool.stateTimeout)),
            namesContact: namesContact)
    }

    private static func file(
        _ tool: EncryptTool, _ access: AgeEncryption.Access, namesContact: Bool
    ) throws -> AgeEncryption {
        guard tool.sign || namesContact || !tool.identity.isGiven else {
            throw UsageError("-i requires -s or --to; without them nothing is signed")
        }
        if case .passphrase = access, !tool.sign {
            try tool.given.refuse("--identity-passphrase", with: "-p without -s")
        }
        return AgeEncryption(
            access: access, signer: tool.sign ? tool.identity.choice : nil, isArmored: tool.armor,
            file: tool.file, output: tool.output, quiet: tool.quiet)
    }

    // MARK: Messages

    private static func target(
        _ tool: EncryptTool, _ mode: EncryptMode
    ) throws -> MessageEncryption.Target {
        let suite = tool.suite
        if let chat = tool.chat {
            guard suite == nil || suite == .phrase else {
                throw UsageError("--chat is only for --suite phrase")
            }
            guard mode == .chatMailboxes else {
                let target = ChatTarget(
                    name: chat, identity: tool.identity.choice, lockTimeout: tool.stateTimeout)
                guard tool.bare else { return .chat(target) }
                // A bare text has no envelope, and the history does not record it.
                for option in [
                    "--attach", "-i", "--identity-passphrase", "--stateless", "--lock-timeout",
                ] { try tool.given.refuse(option, with: "--bare") }
                return .bareChat(target)
            }
            return .mailboxes(try mailboxes(tool, .phrase(chat: chat)))
        }
        switch suite {
        case nil where tool.hasShortTTL:
            if let option = tool.session.given {
                try tool.given.refuse(option, with: "--ttl below one day")
            }
            return .mailboxes(try mailboxes(tool, .best))
        case nil: return .mailboxes(try mailboxes(tool, .best))
        case .ratchet where tool.hasShortTTL:
            throw UsageError(
                "--suite ratchet needs a --ttl of at least \(Envelope.minimumSessionTTL) seconds")
        case .ratchet: return .mailboxes(try mailboxes(tool, .ratchet))
        case .phrase: throw SuiteError.noChat
        case .group: throw UsageError("--suite group is chosen by --group")
        case .sealed:
            if let option = tool.session.given {
                try tool.given.refuse(option, with: "--suite sealed")
            }
            return .mailboxes(try mailboxes(tool, .sealed))
        }
    }

    private static func mailboxes(
        _ tool: EncryptTool, _ method: Mailboxes.Method
    ) throws -> Mailboxes {
        try TrustPolicy.check(tool.trust, stateless: tool.stateless)
        try tool.session.check(message: tool.file)
        if tool.stateless, let option = tool.session.given {
            try tool.given.refuse(option, with: "--stateless")
        }
        return Mailboxes(
            to: tool.to, group: tool.group, ttl: tool.ttl?.seconds, method: method,
            session: tool.session.beginning,
            isClassic: tool.classic, trust: tool.trust, identity: tool.identity.choice,
            lockTimeout: tool.stateTimeout,
            quiet: tool.quiet)
    }
}

extension EncryptTool {
    /// Whether the time to live is too short for a message of a session.
    fileprivate var hasShortTTL: Bool { (ttl?.seconds).isShortTTL }

    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    fileprivate var stateTimeout: Double? { stateless ? nil : lock.timeout }
}
