import Arguments
import SottoBytes
import SottoContacts
import SottoMessages
import SottoTool

/// A validated command line of `decrypt`.
enum DecryptPlan {
    case input(InputDecryption)
    case again(StoredMessages)
    case attachment(AttachmentDecryption)
    case verification(DetachedVerification)
    case inspection(Inspection)

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: DecryptTool) throws {
        try TrustPolicy.check(tool.senders.trust, stateless: tool.stateless)
        if tool.stateless {
            for option in ["--preview", "--lock-timeout"] {
                try tool.given.refuse(option, with: "--stateless")
            }
        }
        try Output.check(
            tool.output,
            isNoneOf: tool.identity.files + tool.senders.from + tool.chat
                + [tool.attachment, tool.passphrase?.path].compactMap(\.self))
        if let receipts = tool.receipts {
            for (isGiven, option) in [(tool.preview, "--preview"), (tool.stateless, "--stateless")]
            where isGiven { try tool.given.refuse("--receipts", with: option) }
            guard !receipts.isEmpty, receipts != "-", receipts != tool.output else {
                throw UsageError("--receipts requires the name of a file other than the output")
            }
            try Output.check(
                receipts,
                isNoneOf: tool.identity.files + tool.senders.from + tool.chat
                    + [tool.file, tool.output].compactMap(\.self))
        }
        switch tool.mode {
        case .input, .file, .messages: self = .input(Self.input(tool))
        case .again: self = .again(StoredMessages(plan: Self.reading(tool), since: tool.since))
        case .attachment:
            self = .attachment(
                AttachmentDecryption(
                    record: tool.attachment ?? "", blob: tool.file, identity: tool.identity.choice,
                    lockTimeout: tool.lock.timeout, output: tool.output, quiet: tool.quiet))
        case .verification:
            self = .verification(try Self.verification(tool))
        case .inspection:
            self = .inspection(
                Inspection(file: tool.file, isJSON: tool.form.json, output: tool.output))
        }
    }

    func run() throws {
        switch self {
        case .input(let decryption): try decryption.run()
        case .again(let messages): try messages.run()
        case .attachment(let decryption): try decryption.run()
        case .verification(let verification): try verification.run()
        case .inspection(let inspection): try inspection.run()
        }
    }

    private static func input(_ tool: DecryptTool) -> InputDecryption {
        InputDecryption(
            path: tool.file,
            file: FileDecryption(
                identity: tool.identity.choice, passphrase: tool.passphrase,
                from: tool.senders.from,
                lockTimeout: tool.lock.timeout, isHeld: tool.hold, output: tool.output,
                quiet: tool.quiet),
            messages: reading(tool), chats: tool.chat, refusals: InputDecryption.Refusals(tool))
    }

    private static func reading(_ tool: DecryptTool) -> ReadingPlan {
        ReadingPlan(
            tool: DecryptTool.toolName,
            form: tool.form.form(output: tool.output, events: tool.events),
            identity: tool.identity.choice,
            from: tool.senders.from, trust: tool.senders.trust, preview: tool.preview,
            stateless: tool.stateless,
            quiet: tool.quiet, lockTimeout: tool.lock.timeout, output: tool.output,
            receipts: tool.receipts)
    }

    private static func verification(_ tool: DecryptTool) throws -> DetachedVerification {
        let signature = tool.verify ?? ""
        guard !tool.senders.from.isEmpty else {
            throw Failure(
                .usage, "--verify requires the expected signer",
                hint: "give the signer's card: --from CARD")
        }
        guard signature != "-" || tool.file != nil && tool.file != "-" else {
            throw Failure(.usage, "standard input can be the signature or the file, not both")
        }
        if !tool.senders.from.contains(where: RecipientArgument.isName) {
            for option in ["-i", "--identity-passphrase", "--lock-timeout"] {
                try tool.given.refuse(option, with: "--verify unless --from names a contact")
            }
        }
        return DetachedVerification(
            signature: signature, file: tool.file, from: tool.senders.from,
            identity: tool.identity.choice, lockTimeout: tool.lock.timeout, quiet: tool.quiet)
    }
}

extension InputDecryption.Refusals {
    /// Checks the options for both kinds of input.
    fileprivate init(_ tool: DecryptTool) {
        let isNamed = tool.senders.from.contains(where: RecipientArgument.isName)
        file = Self.refusal {
            try tool.given.check(for: DecryptMode.file)
            if !isNamed {
                try tool.given.refuse(
                    "--lock-timeout", with: "an age file unless --from names a contact")
            }
        }
        messages = Self.refusal { try tool.given.check(for: DecryptMode.messages) }
    }

    private static func refusal(_ check: () throws -> Void) -> (any Error)? {
        do { try check() } catch { return error }
        return nil
    }
}
