import Foundation
import TestSupport
import Testing

@Suite("Completions", .needs(.bash, .jq))
struct CompletionTests {
    /// The completions that completions/generate makes from the built programs.
    private static let made = Result {
        let made = TemporaryDirectory()
        let programs = (Programs.path("sotto") as NSString).deletingLastPathComponent
        let run = try runInRepository(
            Peer.bash.path, ["completions/generate", programs, made.path])
        try #require(run.status == 0, "\(run.stderr)")
        return made
    }

    private static func names(of shell: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: made.get()(shell)).sorted()
    }

    @Test("exist for each tool and name")
    func exist() throws {
        let tools = Repository.tools
        let verbs = ["add", "init", "meet", "read", "save", "say", "whoami"]
        let own = (tools + verbs).map { "sotto-\($0)" }
        #expect(try Self.names(of: "bash") == (["sotto"] + own + tools).sorted())
        #expect(try Self.names(of: "zsh") == (["sotto"] + own).map { "_\($0)" }.sorted())
        // fish has no completions for names that are no programs.
        let programs = ["sotto"] + tools + tools.map { "sotto-\($0)" }
        #expect(try Self.names(of: "fish") == programs.map { "\($0).fish" }.sorted())
    }

    @Test("have each option of the help", arguments: Repository.tools)
    func haveEachOption(_ tool: String) throws {
        for shell in ["bash/sotto-\(tool)", "zsh/_sotto-\(tool)", "fish/sotto-\(tool).fish"] {
            let text = try String(contentsOfFile: Self.made.get()(shell), encoding: .utf8)
            for name in try HelpDump.of(tool).flags.flatMap(\.names) {
                let letters = name.drop { $0 == "-" }
                let written =
                    !shell.hasPrefix("fish")
                    ? name : (name.hasPrefix("--") ? "-l " : "-s ") + letters
                #expect(text.contains(written), "\(shell): \(name)")
            }
        }
    }

    @Test("are accepted by bash", .needs(.bash)) func inBash() throws { try accept(.bash) }
    @Test("are accepted by zsh", .needs(.zsh)) func inZsh() throws { try accept(.zsh) }
    @Test("are accepted by fish", .needs(.fish)) func inFish() throws { try accept(.fish) }

    private func accept(_ shell: Peer) throws {
        for file in try Self.names(of: shell.name) {
            let run = try runInRepository(
                shell.path, ["-n", Self.made.get()("\(shell.name)/\(file)")])
            #expect(run.status == 0, "\(file): \(run.stderr)")
        }
    }

    @Test(
        "complete in bash",
        arguments: [
            ("encrypt --cl", "--classic"), ("sotto-encrypt --cl", "--classic"),
            ("sotto encrypt --cl", "--classic"), ("sotto enc", "encrypt"),
            ("keygen pub", "public"), ("sotto keygen pub", "public"),
            ("keygen public --ur", "--uri"), ("keygen --prot", "--protect"),
            ("pad --scheme b", "bucket"), ("sotto pad --scheme b", "bucket"),
            ("pad --scheme = b", "bucket"),
            ("keygen export mini", "minisign"), ("bridge answer whi", "whisper2"),
            ("recv --protocol mes", "message-flow"), ("send --protocol so", "sotto"),
            ("sotto in", "init"), ("sotto init --rel", "--relay"),
            ("sotto help deco", ""), ("sotto help decr", "decrypt"),
        ])
    func bash(_ line: String, _ expected: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let tool = words[0].replacingOccurrences(of: "sotto-", with: "")
        let script = """
            compopt() { :; }
            . \(try Self.made.get()("bash/\(words[0])"))
            COMP_WORDS=(\(line)); COMP_CWORD=\(words.count - 1)
            \(tool == "sotto" ? "_sotto" : "_sotto_" + tool)
            echo "${COMPREPLY[*]}"
            """
        let run = try runInRepository(Peer.bash.path, ["-c", script])
        #expect(run.text == expected + "\n", "\(run.stderr)")
    }

    /// Alice with two contacts, a group and a message request; the files bob.key and bob.card exist here too.
    private static func home() throws -> Home {
        let home = try Home(people: "alice", "bob", "carol", "dave")
        func must(_ tool: String, _ arguments: [String], _ input: [UInt8] = []) throws -> [UInt8] {
            try home.output(tool, arguments + ["-i", "alice.key"], stdin: input)
        }
        _ = try must("contact", ["add", "-q", "bob.card"])
        _ = try must("contact", ["add", "-q", "--name", "carol jones", "carol.card"])
        _ = try must("group", ["create", "-q", "team"])
        let stranger = try home.output(
            "encrypt", ["--to", "alice.card", "-i", "dave.key"], stdin: Array("hi".utf8))
        _ = try must("decrypt", ["-q"], stranger)
        return home
    }

    private static let named = [
        ("contact show b", "bob"), ("contact verify car", "carol jones"),
        ("encrypt --to b", "bob"),
        ("decrypt --from b", "bob"), ("recv --card b", "bob"), ("history b", "bob"),
        ("fingerprint --with car", "carol jones"), ("contact accept 05", "05"),
        ("compose text te", "team"), ("chat te", "team"), ("compose text b", "bob"),
        ("group show te", "team"),
        ("group invite team b", "bob"), ("encrypt --group te", "team"),
        ("history read te", "team"), ("sotto say b", "bob"), ("sotto read te", "team"),
        ("sotto save --all b", "bob"), ("sotto chat te", "team"), ("sotto group show te", "team"),
    ]

    private static let shells = [Peer.bash, .zsh, .fish]

    @Test(
        "know the names of contacts, groups and requests", .needs(.zsh, .fish), arguments: shells)
    func names(_ shell: Peer) throws {
        let words = try ShellCompletion(
            shell: shell, made: Self.made.get().path, home: Self.home()
        ).words(for: Self.named.map(\.0))
        for (line, expected) in Self.named {
            // Names come before files. A shell quotes the space of a name.
            let first = words[line]?.first?.replacing("\\", with: "") ?? ""
            let isName =
                expected == "05"
                ? first.wholeMatch(of: #/05[0-9a-f]{14}/#) != nil : first == expected
            #expect(isName, "\(shell.name): \(line): \(words[line] ?? [])")
        }
    }

    /// The commands of `sotto` that take --send.
    private static func isSent(_ command: String) -> Bool {
        switch command.split(separator: " ")[0] {
        case "compose": true
        case "group":
            ![
                "check", "decline", "forget", "list", "log", "participants", "revoke", "show",
            ]
            .map { "group " + $0 }.contains(command)
        default:
            [
                "encrypt", "keygen public", "keygen prekeys", "keygen set", "keygen rotate",
                "history read",
                "history repeat", "bridge card", "contact profile", "contact repair",
                "device request", "device add", "device rename", "device remove", "device confirm",
                "device object", "device announce", "device sync", "device list",
            ].contains(command)
        }
    }

    @Test("offer --send where sotto takes it", .needs(.zsh, .fish), arguments: shells)
    func sendWord(_ shell: Peer) throws {
        // The tools themselves do not take it.
        var lines = ["encrypt --sen": false, "sotto-encrypt --sen": false]
        for words in ["say", "help encrypt"] { lines["sotto \(words) --sen"] = false }
        for tool in Repository.tools {
            let names = try HelpDump.of(tool).subcommands.map { "\(tool) \($0)" }
            for command in names.isEmpty ? [tool] : names {
                lines["sotto \(command) --sen"] = Self.isSent(command)
            }
        }
        let words = try ShellCompletion(
            shell: shell, made: Self.made.get().path, home: Home()
        ).words(for: lines.keys.sorted())
        for (line, isSent) in lines {
            #expect(words[line] == (isSent ? ["--send"] : nil), "\(shell.name): \(line)")
        }
        // It takes no value, and the words after it are completed as before.
        let after = ["sotto encrypt --send --cl", "sotto group create --send --prese"]
        let more = try ShellCompletion(
            shell: shell, made: Self.made.get().path, home: Home()
        ).words(for: after)
        #expect(after.map { more[$0] } == [["--classic"], ["--preset"]], "\(shell.name): \(more)")
    }

    @Test(
        "complete in fish", .needs(.fish),
        arguments: [
            ("encrypt --cl", "--classic"), ("sotto-encrypt --cl", "--classic"),
            ("sotto encrypt --cl", "--classic"), ("sotto enc", "encrypt"),
            ("keygen pub", "public"), ("keygen public --ur", "--uri"),
            ("pad --scheme b", "bucket"), ("pad --scheme=b", "--scheme=bucket"),
            ("keygen export mini", "minisign"), ("sotto in", "init"),
        ])
    func fish(_ line: String, _ expected: String) throws {
        // fish completes only programs that it finds.
        let home = Home()
        for tool in Repository.tools + ["sotto"] {
            for name in Set([tool, "sotto-" + tool]) {
                try FileManager.default.createSymbolicLink(
                    atPath: home.files(name), withDestinationPath: Programs.path(tool))
            }
        }
        let script = """
            set -p fish_complete_path \(try Self.made.get()("fish"))
            complete -C '\(line)' | string replace -r '\\t.*' ''
            """
        var environment = home.environment
        environment["PATH"] = "\(home.files.path):/usr/bin:/bin"
        let run = try Command(
            path: Peer.fish.path, ["-c", script], environment: environment,
            directory: home.files.path
        ).run()
        #expect(run.lines == [expected], "\(run.stderr)")
    }
}
