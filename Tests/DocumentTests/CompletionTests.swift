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
        let own = (tools + ["add", "chat", "init", "meet"]).map { "sotto-\($0)" }
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

    @Test(
        "know the names of contacts",
        arguments: [
            ("contact show b", "bob"), ("contact verify car", "carol"), ("encrypt --to b", "bob"),
            ("decrypt --from b", "bob"), ("recv --card b", "bob"),
            ("fingerprint --with car", "carol"),
        ])
    func names(_ line: String, _ expected: String) throws {
        let home = try Home(people: "alice", "bob", "carol")
        for name in ["bob", "carol"] {
            let run = try home.run("contact", ["add", "-q", "-i", "alice.key", "\(name).card"])
            try #require(run.status == 0, "\(run.stderr)")
        }
        let words = line.split(separator: " ").map(String.init)
        let script = """
            compopt() { :; }
            . \(try Self.made.get()("bash/\(words[0])"))
            COMP_WORDS=(\(line)); COMP_CWORD=\(words.count - 1)
            _sotto_\(words[0])
            echo "${COMPREPLY[*]}"
            """
        var environment = home.environment
        let programs = (Programs.path("sotto") as NSString).deletingLastPathComponent
        environment["PATH"] = "\(programs):/usr/bin:/bin"
        environment["SOTTO_IDENTITY"] = home.files("alice.key")
        // The files bob.key and bob.card exist here too: contact names come first.
        let run = try Command(
            path: Peer.bash.path, ["-c", script], environment: environment,
            directory: home.files.path
        ).run()
        #expect(
            run.text.split(whereSeparator: \.isWhitespace).first.map(String.init) == expected,
            "\(run.text)\(run.stderr)")
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
