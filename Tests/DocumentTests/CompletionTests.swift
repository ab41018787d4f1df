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

    /// Runs a script of a shell with the programs on the path.
    private static func run(_ shell: Peer, _ script: String, in home: Home) throws -> Run {
        var environment = home.environment
        environment["PATH"] = "\(Programs.directory):/usr/bin:/bin"
        environment["SOTTO_IDENTITY"] = home.files("alice.key")
        environment["LC_ALL"] = "C.UTF-8"
        return try Command(
            path: shell.path, ["-c", script], environment: environment, directory: home.files.path
        ).run()
    }

    private static let named = [
        ("contact show b", "bob"), ("contact verify car", "carol\\ jones"),
        ("encrypt --to b", "bob"),
        ("decrypt --from b", "bob"), ("recv --card b", "bob"), ("history b", "bob"),
        ("fingerprint --with car", "carol\\ jones"), ("contact accept 05", "05"),
        ("compose text te", "team"), ("chat te", "team"), ("compose text b", "bob"),
        ("group show te", "team"),
        ("group invite team b", "bob"), ("encrypt --group te", "team"),
        ("history read te", "team"), ("sotto say b", "bob"), ("sotto read te", "team"),
        ("sotto save --all b", "bob"), ("sotto chat te", "team"), ("sotto group show te", "team"),
    ]

    @Test("know the names of contacts, groups and requests")
    func names() throws {
        let home = try Self.home()
        for (line, expected) in Self.named {
            let words = line.split(separator: " ").map(String.init)
            let script = """
                compopt() { :; }
                . \(try Self.made.get()("bash/\(words[0])"))
                COMP_WORDS=(\(line)); COMP_CWORD=\(words.count - 1)
                _\(words[0] == "sotto" ? "sotto" : "sotto_" + words[0])
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            // Names come before files.
            let run = try Self.run(.bash, script, in: home)
            let first = run.lines.first ?? ""
            let isName = expected == "05" ? first.hasPrefix("05") : first == expected
            #expect(isName, "\(line): \(run.text)\(run.stderr)")
        }
    }

    @Test("know the names in zsh", .needs(.zsh))
    func namesInZsh() throws {
        let script = """
            _arguments() { :; }; _describe() { :; }
            compadd() { print -l -- ${(P)2}; }
            words=(sotto-contact show b); CURRENT=3
            . \(try Self.made.get()("zsh/_sotto-contact"))
            _sotto_names contacts groups requests
            """
        let run = try Self.run(.zsh, script, in: Self.home())
        #expect(run.lines.prefix(3) == ["bob", "carol jones", "team"], "\(run.text)\(run.stderr)")
        #expect(run.lines.count == 4 && run.lines[3].wholeMatch(of: #/05[0-9a-f]{14}/#) != nil)
    }

    @Test("know the names in fish", .needs(.fish))
    func namesInFish() throws {
        let home = try Self.home()
        for (line, expected) in Self.named
        where !line.hasPrefix("sotto group") && !line.hasPrefix("sotto chat") {
            let script = """
                set -p fish_complete_path \(try Self.made.get()("fish"))
                complete -C '\(line)' | string replace -r '\\t.*' ''
                """
            let run = try Self.run(.fish, script, in: home)
            // The files bob.key and bob.card begin like names.
            let name = expected.replacing("\\", with: "")
            let found = run.lines.contains { $0 == name || name == "05" && $0.hasPrefix(name) }
            #expect(found, "\(line): \(run.text)\(run.stderr)")
        }
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
