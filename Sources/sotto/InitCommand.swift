import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto init`: creates the first identity, using the other tools.
struct InitCommand: Program {
    static let configuration = CommandConfiguration(
        name: "init",
        abstract: "Create your identity, show its recovery words once, and publish its card.",
        usage: """
            sotto init [--relay URL [--invitation SOURCE] [--no-announcements]] [--name NAME]
                [--passphrase SOURCE | --no-passphrase]
            sotto init --recover [--picture FILE] [--backup FILE] [--relay URL] [--name NAME] ...
            """,
        discussion: """
            Runs keygen, and with a relay also keygen public | send and keygen prekeys | send, or with an invitation \
            recv --invitation, which publishes both. If the relay offers a room for announcements, it is entered with \
            group join | encrypt | send, on a terminal after a question. The identity is written \
            to $SOTTO_IDENTITY, else to the default file; an existing one is never replaced. The words are shown on \
            stderr if it is a terminal, and the next commands are printed.

            With --recover the identity is restored: it runs keygen recover, history import, and the same publication, \
            whose prekeys replace those of the lost machine. On a terminal it checks the words and the address of the relay when they \
            are typed, and asks again for wrong ones, three times in all. The list of your other machines comes from the backup \
            and from your card at the relay, with device restore. On a terminal it asks which of them are lost too, and removes \
            these with device remove, and whether to tell the contacts and the members of groups, with contact repair and group \
            sync.

            EXAMPLES
              sotto init --name alice --relay tls://relay.example.org:7667
              sotto init --recover --backup state.age --relay tls://relay.example.org:7667
            """)

    @Option("--name", value: "name", help: "Your name, included in the card.")
    var name: String?

    @Option(
        "--relay", value: "url",
        help:
            "The relay where you fetch your mail, stored in the identity and card. Default: $SOTTO_RELAY."
    )
    var relay: String?

    @Option(
        "--invitation", value: "source",
        help:
            "Code of relay invite, for a relay that serves only members: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask."
    )
    var invitation: SecretSource?

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Flag(
        "--no-announcements",
        help: "Do not enter the room for announcements that the relay offers to everybody.")
    var noAnnouncements = false

    @Flag("--no-passphrase", help: "Create the identity without a passphrase.")
    var noPassphrase = false

    @Flag(
        "--recover",
        help:
            "Restore an identity from its words, which are asked for or read from standard input."
    )
    var recover = false

    @Option(
        "--picture", value: "file", help: "With --recover: a picture of the words of keygen paper.")
    var picture: String?

    @Option(
        "--backup", value: "file",
        help: "With --recover: import this backup, made by history export --backup.")
    var backup: String?

    func validate() throws {
        try passphrase?.validate()
        try invitation?.validate()
        for (option, value) in [("--picture", picture), ("--backup", backup)]
        where value != nil && !recover {
            throw UsageError("\(option) requires --recover")
        }
        guard passphrase == nil || !noPassphrase else {
            throw UsageError("--passphrase and --no-passphrase cannot be combined")
        }
    }

    func execute() throws {
        let path = try defaultIdentityPath()
        var status = stat()
        guard lstat(path, &status) != 0 else {
            throw Failure(
                .cannotCreate, "\(path) exists and is not replaced",
                hint:
                    "to see what is missing: sotto whoami, or to print your card: sotto keygen public --json"
            )
        }
        // Before anything is asked.
        let given = relay ?? environmentVariable("SOTTO_RELAY")
        try require(check(name: name, given, nil))
        var words = try recover ? readWords() : nil
        defer { if words != nil { wipe(&words!) } }
        let relay = try given ?? words.flatMap { try askForRelay($0) }
        guard invitation == nil || relay != nil else {
            throw UsageError("--invitation requires --relay")
        }
        let code = try invitation.map { source in
            try source.read().withBytes { bytes in Array(bytes) }
        }
        let secret = try choosePassphrase()
        try makeIdentity(at: path, relay, secret, words)
        let (isImported, failed) =
            try recover ? restoreBackup(path, secret) : (isImported: false, failure: nil)
        let devices =
            try recover ? offerDevices(relay, path, secret) : (isOneLeft: false, commands: [])
        var outcome = Publication.sent(0)
        if let relay {
            outcome =
                try code == nil
                ? publish(to: relay, path, secret) : redeem(code, at: relay, path, secret)
        }
        Terminal.sayIfInterrupted(nil)
        switch outcome {
        case .sent(let status) where recover:
            let isTold =
                try (isImported || devices.isOneLeft) && status == 0 && relay != nil
                && tellContacts(path, secret)
            try say(
                (isTold && isImported
                    ? []
                    : [
                        (
                            "sotto contact repair --send",
                            "tell your contacts, after you have them again, and your other machines"
                        )
                    ]
                        + (isImported
                            ? [
                                (
                                    "sotto group sync --send",
                                    "then ask the members of your groups what the backup lacks"
                                )
                            ] : []))
                    + devices.commands
                    + [("sotto read", "receive messages, and see what could not be opened")])
            if status != 0 { throw Failure.ended(status, "send") }
            if let failed { throw failed }
        case .sent(let status):
            let room =
                try status == 0 ? relay.flatMap { try announcements(of: $0, path, secret) } : nil
            try say(
                [room].compactMap(\.self) + [
                    (
                        "sotto keygen public --uri | sotto qr -o code.png",
                        "draw your code, for a friend's camera"
                    ),
                    ("sotto add FRIEND", "add a friend from a picture, a card, a URI or an id"),
                    ("sotto say FRIEND hello", "write a message"),
                ])
            if status != 0 { throw Failure.ended(status, "send") }
        case .refused(let failure):
            let address = shellWord(relay ?? "")
            try say([
                (
                    "sotto recv --relay \(address) --invitation @FILE:code",
                    "publish your card, with a code from the operator in the file"
                )
            ])
            throw failure
        }
    }

    /// The outcome of publishing the card and the prekeys at the relay.
    private enum Publication {
        /// `send` ended with this status, or `recv` accepted a code.
        case sent(Int32)
        /// The relay serves only members, and no code was accepted.
        case refused(Failure)
    }

    private func choosePassphrase() throws -> PassedSecret? {
        guard !noPassphrase else {
            Terminal.say(
                "sotto: warning: without a passphrase, a copy of the file is enough to read your messages and to write as you; add one with: sotto keygen passwd"
            )
            return nil
        }
        do {
            return PassedSecret(
                try NewSecret(
                    "passphrase", tool: SottoDispatcher.toolName, alternative: "--no-passphrase"
                ).read(passphrase, warns: false))
        } catch let failure as Failure where failure.status == .configuration && passphrase == nil {
            throw Failure(
                .configuration, failure.message,
                hint: "give --passphrase @FILE:PATH, or --no-passphrase")
        }
    }

    /// Makes the identity, or restores it from its words.
    private func makeIdentity(
        at path: String, _ relay: String?, _ secret: PassedSecret?, _ words: [UInt8]?
    ) throws {
        var arguments = (words == nil ? [] : ["recover"]) + ["-q", "-o", path]
        if let name { arguments += ["--name", name] }
        if let relay { arguments += ["--relay", relay] }
        if secret != nil { arguments += ["--protect", "--passphrase", ToolRun.secretSource] }
        var step = ToolRun("keygen", arguments, input: words ?? [])
        step.secret = secret
        try step.output()
        Terminal.sayIfInterrupted(
            "sotto: note: your identity is \(path), and its card is not published yet; to see what is missing: sotto whoami"
        )
        if words != nil {
            Terminal.say("Your identity is \(path).")
            Terminal.say(
                "It has its keys again: your id is the same, and files and sealed messages to you can be opened."
            )
            Terminal.say(
                "The sessions of the lost machine are gone. Messages that were written in them cannot be opened; contacts can send them again after they are told."
            )
        } else if Terminal.isTerminal(2) {
            try showWords(of: path, secret)
        } else {
            Terminal.say("Your identity is \(path). Its words restore its keys; to see them:")
            Terminal.say("  sotto keygen words")
        }
        if words == nil {
            Terminal.say("The words do not restore contacts and messages; make a backup of those:")
            Terminal.say("  sotto history export --backup -o state.age")
        }
        if secret != nil {
            Terminal.say("To type the passphrase only once in eight hours:")
            Terminal.say("  sotto keygen unlock")
        }
        if name == nil {
            Terminal.say(
                "sotto: note: the card has no name; to set one: sotto keygen set --name NAME --send"
            )
        }
    }

    /// Shows the words of the new identity in columns.
    private func showWords(of path: String, _ secret: PassedSecret?) throws {
        var arguments = ["words", "-i", path]
        if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
        var step = ToolRun("keygen", arguments)
        step.secret = secret
        var output = try step.output()
        defer { wipe(&output) }
        let words = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        try Terminal.tell(
            "Your identity is \(path). These words restore its keys; write them down now:")
        try Terminal.tell("")
        for line in WordGrid(words: words.map(String.init)).lines(width: Terminal.width(of: 2)) {
            try Terminal.tell(line)
        }
        try Terminal.tell("")
        guard Terminal.isTerminal(0) else { return }
        try Terminal.tell(
            "To check what you wrote down, type three of them; Enter alone skips this.")
        arguments = ["words", "--confirm"] + arguments.dropFirst()
        step = ToolRun("keygen", arguments)
        step.secret = secret
        guard try step.run().status != 0 else { return }
        Terminal.say(
            "sotto: note: the words are not confirmed; to do it later: sotto keygen words --confirm"
        )
    }

    /// Sends the card and the prekeys to the relay.
    private func publish(
        to relay: String, _ path: String, _ secret: PassedSecret?
    ) throws -> Publication {
        // One run of send stores both on disk before it connects, so an interruption leaves both in the outbox.
        var records: [UInt8] = []
        for what in ["public", "prekeys"] {
            var arguments = [what, "-i", path]
            if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
            var made = ToolRun("keygen", arguments)
            made.secret = secret
            records += try made.output()
        }
        var send = ToolRun("send", ["--relay", relay], input: records)
        send.collectsMessages = true
        let sending = try send.run()
        // A code is asked for in place of the error that names the command for one.
        if Self.isForMembers(sending.output) {
            return try redeem(nil, at: relay, path, secret)
        }
        send.show(sending)
        let outcome = sending.status
        if outcome == ExitStatus.tryAgain.rawValue {
            Terminal.say(
                "sotto: note: the card and the prekeys wait in the outbox; the next send delivers them"
            )
        } else if outcome == 0 {
            Terminal.say("sotto: note: \(relay) has your card and prekeys")
        }
        return .sent(outcome)
    }

    /// Returns whether a relay rejected records because it serves only members.
    private static func isForMembers(_ results: [UInt8]) -> Bool {
        records(in: results).contains { $0["reason"] == .string("not_admitted") }
    }

    /// The number of times that a code is asked for.
    static let prompts = 3

    /// Redeems an invitation with `recv`, which publishes the card and the prekeys. Without a code, and after a wrong one, a code is
    /// asked for on a terminal.
    private func redeem(
        _ first: [UInt8]?, at relay: String, _ path: String, _ secret: PassedSecret?
    ) throws -> Publication {
        var failure = Failure(
            .permission, "\(relay) serves only members, and this id is not a member")
        var given = first
        for _ in 0..<Self.prompts + (first == nil ? 0 : 1) {
            guard let code = try given ?? askForCode(of: relay) else { break }
            given = nil
            let status = try accept(code, at: relay, path, secret)
            if status == ExitStatus.done.rawValue { return .sent(status) }
            failure = Failure.ended(status, "recv")
            let wrong = [ExitStatus.malformed.rawValue, ExitStatus.permission.rawValue]
            guard wrong.contains(status) else { break }
        }
        return .refused(failure)
    }

    /// Asks for the code of an invitation on a terminal. Returns `nil` without a code.
    private func askForCode(of relay: String) throws -> [UInt8]? {
        guard Terminal.isTerminal(0) else { return nil }
        let code = try Terminal.ask(
            "\(relay) serves only members. The code of your invitation, or Enter for none: ",
            secret: false
        ).withBytes { Array($0) }
        return code.isEmpty ? nil : code
    }

    /// Redeems one code. Returns the status of `recv`.
    private func accept(
        _ code: [UInt8], at relay: String, _ path: String, _ secret: PassedSecret?
    ) throws -> Int32 {
        var arguments = ["--relay", relay, "-i", path, "--invitation", "@FD:0"]
        if secret != nil { arguments += ["--identity-passphrase", ToolRun.secretSource] }
        var step = ToolRun("recv", arguments, input: code)
        step.secret = secret
        return try step.run().status
    }

    /// Enters the room for announcements that a relay offers. Returns the next command for it, or `nil` without a room. A relay may
    /// offer any room, and its members see the id and the name: the user is asked on a terminal, and told otherwise. A room that
    /// cannot be entered fails nothing.
    private func announcements(
        of relay: String, _ path: String, _ secret: PassedSecret?
    ) throws -> (String, String)? {
        guard !noAnnouncements else { return nil }
        var question = ToolRun("recv", ["--announcements", "--relay", relay])
        question.collectsMessages = true
        let answer = try question.run()
        let uri = String(decoding: answer.output, as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).first.map(String.init)
        guard answer.status == 0, let uri else { return nil }
        let later = (
            "sotto group join --nickname \(name.map { shellWord($0) } ?? "NAME") \(shellWord(uri)) --send",
            "enter the room for announcements of your relay"
        )
        guard let name else { return later }
        if Terminal.isTerminal(0) {
            let question =
                "\(relay) offers a room for announcements, whose members see your id and your name. Type yes to enter it: "
            guard try Terminal.confirms(question) else { return later }
        }
        let identity =
            ["-i", path]
            + (secret == nil ? [] : ["--identity-passphrase", ToolRun.secretSource])
        var pipe = PipeRun([
            PipeRun.Stage(
                "group", ["join", "-q", "--nickname", name, "--relay", relay] + identity + [uri]),
            PipeRun.Stage("encrypt", ["-q"] + identity), PipeRun.Stage("send", ["-q"]),
        ])
        pipe.input = []
        pipe.secret = secret
        pipe.showsOutput = false
        let result = try pipe.run()
        // The next send delivers the outbox.
        guard !result.isEmpty,
            [ExitStatus.done, .tryAgain].contains(where: { $0.rawValue == result.status })
        else { return later }
        Terminal.say(
            "sotto: note: entered the room for announcements of \(relay); its members see your id and your name"
        )
        return ("sotto read", "read its welcome, which arrives when its members have let you in")
    }

    /// Prints the next commands and what they do.
    private func say(_ commands: [(String, String)]) throws {
        let output = try Output(path: "-", content: .text)
        for (command, purpose) in commands {
            try output.writeText("\(command)    # \(purpose)\n")
        }
        try output.finish()
    }
}
