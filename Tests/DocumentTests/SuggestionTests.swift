import TestSupport
import Testing

/// A misspelled command or option has a suggestion.
@Suite("Misspelled words") struct SuggestionTests {
    private static let programs = Repository.tools + ["sotto"]

    /// Returns a word with its first letter twice.
    private static func misspelled(_ word: String) -> String {
        let dashes = word.prefix { $0 == "-" }
        let letters = word.dropFirst(dashes.count)
        return "\(dashes)\(letters.prefix(1))\(letters)"
    }

    @Test("in place of a command have a suggestion", arguments: programs)
    func commands(_ program: String) throws {
        let home = try Home(people: "alice")
        // These take a conversation, or a file, in place of a command.
        let status: Int32 = ["history", "qr"].contains(program) ? 66 : 64
        if program == "history" {
            // An empty history says that it is empty.
            let environment = ["SOTTO_IDENTITY": home.files("alice.key")]
            let run = try home.run(
                "encrypt", ["--to", "me", "-q", "--elsewhere"], stdin: .whole(Array("x".utf8)),
                environment: environment)
            try #require(run.status == 0, "\(run.stderr)")
        }
        let tools = program == "sotto" ? Repository.tools : []
        for name in try HelpDump.of(program).subcommands + tools {
            let run = try home.run(
                program, [Self.misspelled(name)],
                environment: ["SOTTO_IDENTITY": home.files("alice.key")])
            #expect(
                run.status == status && run.stderr.contains("did you mean '\(name)'?"),
                "\(program): \(run.status) \(run.stderr)")
        }
    }

    @Test("in place of an option have a suggestion", arguments: programs)
    func options(_ program: String) throws {
        let home = Home()
        let dump = try HelpDump.of(program)
        var tried: Set<String> = []
        for form in [dump] + dump.commands {
            let command = form.name == program ? [] : [form.name]
            for name in form.arguments.flatMap(\.names)
            where name.hasPrefix("--") && tried.insert(name).inserted {
                let run = try home.run(program, command + [Self.misspelled(name)])
                #expect(
                    run.status == 64 && run.stderr.contains("did you mean '\(name)'?"),
                    "\(program) \(command): \(run.status) \(run.stderr)")
            }
        }
        #expect(tried.contains("--help"))
    }
}
