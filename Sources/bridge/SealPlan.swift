import Arguments
import Sotto
import SottoMessages
import SottoMessengers
import SottoOpenSSL
import SottoTool

/// A validated command line of `bridge seal`.
struct SealPlan {
    private enum Method {
        case messenger(MessengerTarget)
        case session(SessionTarget)
        case senderKeys(SenderKeyTarget)
    }

    private let method: Method
    private let messages: InputMessages
    private let file: String?
    private let output: String?
    private let allowsSecrets: Bool

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: SealCommand) throws {
        if tool.stateless { try tool.given.refuse("--lock-timeout", with: "--stateless") }
        try TrustPolicy.check(tool.trust, stateless: tool.stateless)
        for (name, value) in [("--user-id", tool.userID), ("--group-id", tool.groupID)] {
            guard let value else { continue }
            guard (1...255).contains(value.utf8.count), !hasControls(value) else {
                throw UsageError("\(name) must have 1 to 255 bytes and no control characters")
            }
        }
        guard tool.format == .shainy || tool.group != nil || !tool.to.isEmpty else {
            throw UsageError("no recipient is given: use --to CARD")
        }
        if let messenger = tool.format.messenger {
            method = .messenger(try Self.target(tool, messenger))
        } else if tool.group != nil || tool.groupID != nil {
            method = .senderKeys(Self.senderKeys(tool))
        } else {
            method = .session(try Self.session(tool))
        }
        try tool.session.check(message: tool.file)
        let read =
            tool.identity.files + tool.to + tool.session.bundle
            + [tool.chat].compactMap(\.self) + tool.attachment.attach
        try Output.check(tool.output, isNoneOf: read)
        messages = try tool.attachment.messages(
            perLine: tool.jsonl, isNoneOf: read + [tool.file].compactMap(\.self),
            output: tool.output,
            announcer: tool.quiet ? nil : BridgeTool.toolName, form: .box(OpenSSLGCM.self))
        file = try tool.attachment.textFile(tool.file)
        output = tool.output
        allowsSecrets = tool.attachment.anyway
    }

    private static func target(
        _ tool: SealCommand, _ messenger: Messenger
    ) throws -> MessengerTarget {
        guard messenger != .shainy || tool.chat != nil || tool.publicChannel else {
            throw UsageError("shainy requires --chat FILE or --public-channel")
        }
        var options = MessengerOptions()
        options.gcm = tool.gcm
        options.hidesHash = tool.hidesHash
        options.isPublic = tool.publicChannel
        options.showsSecret = tool.showSecret
        options.group = tool.groupID
        options.whisperID = tool.whisperID
        options.spelling = tool.snakeCase ? .snakeCase : .camelCase
        return MessengerTarget(
            messenger: messenger, to: tool.to, group: tool.group, chat: tool.chat, options: options,
            trust: tool.trust, identity: tool.identity.choice,
            lockTimeout: tool.stateless ? nil : tool.lock.timeout, quiet: tool.quiet)
    }

    private static func senderKeys(_ tool: SealCommand) -> SenderKeyTarget {
        SenderKeyTarget(
            to: tool.to, group: tool.group, groupID: tool.groupID, session: tool.session.beginning,
            isClassic: tool.classic, trust: tool.trust, identity: tool.identity.choice,
            lockTimeout: tool.lock.timeout, quiet: tool.quiet)
    }

    private static func session(_ tool: SealCommand) throws -> SessionTarget {
        guard tool.to.count == 1 else {
            throw UsageError(
                "\(tool.format.rawValue) requires exactly one --to"
                    + (tool.format == .kecalek ? ", or --group-id ID for a group" : ""))
        }
        return SessionTarget(
            to: tool.to[0], isFlow: tool.format == .flow, userID: tool.userID,
            session: tool.session.beginning, isClassic: tool.classic, trust: tool.trust,
            identity: tool.identity.choice, lockTimeout: tool.lock.timeout, quiet: tool.quiet)
    }

    func run() throws {
        let input = try Input(path: file)
        let seal: ([MessageText]) throws -> [Result<[JSONObject], Failure>]
        var isKept = true
        var unreached: Failure?
        switch method {
        case .messenger(let target):
            var attachment: Attachment?
            if case .whole(let files, _) = messages { attachment = files.first }
            let sealing = try MessengerSealing(target, attachment: attachment)
            (seal, unreached) = (sealing.seal, sealing.unreached)
            isKept = false
        case .session(let target): seal = try SessionSealing(target).seal
        case .senderKeys(let target):
            let sealing = try SenderKeySealing(target)
            (seal, unreached) = (sealing.seal, sealing.unreached)
        }
        try MessageWriting(
            tool: BridgeTool.toolName, input: input,
            output: try Output(path: output, content: .text, inputs: [input]),
            allowsSecrets: allowsSecrets, seal: seal,
            print: { records, output in
                for record in records { try output.writeRecord(record) }
            }
        ).run(messages, isKept: isKept)
        if let unreached { throw unreached }
    }
}
