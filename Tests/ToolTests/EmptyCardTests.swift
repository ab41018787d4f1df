import Foundation
import TestSupport
import Testing

/// A file without a card, such as what a broken transfer leaves, has a message that says so.
struct EmptyCardTests {
    private let they: Conversing

    init() throws { they = try Conversing() }

    private static let commands: [(tool: String, arguments: [String])] = [
        ("contact", ["add"]), ("contact", ["introduce"]),
        ("compose", ["text"]), ("encrypt", ["--to"]), ("encrypt", ["-r"]), ("encrypt", ["-R"]),
        ("fingerprint", []),
    ]

    @Test func anEmptyFileIsNamed() throws {
        they.home.files.write("empty.card", [])
        they.home.files.write("blank.card", Array("\n  \n".utf8))
        for file in ["empty.card", "blank.card"] {
            for (tool, arguments) in Self.commands {
                let path = they.home.files(file)
                let run = try they.alice.run(tool, arguments + [path])
                #expect(
                    run.status == 65
                        && run.stderr.contains("\(tool): error: \(path) is empty\n")
                        && run.stderr.contains(
                            "hint: get the card again: its owner prints it with sotto keygen public"
                        ),
                    "\(tool) \(arguments): \(run.status) \(run.stderr)")
            }
        }
    }

    @Test func aFileWithCommentsHasNoCard() throws {
        they.home.files.write("note.card", Array("# later\n".utf8))
        let path = they.home.files("note.card")
        let run = try they.alice.run("contact", ["add", path])
        #expect(
            run.status == 65 && run.stderr.contains("\(path) contains no card\n"), "\(run.stderr)")
    }

    /// The command before it in the pipe printed nothing.
    @Test func anEmptyInputIsNamed() throws {
        let run = try they.alice.run("contact", ["add", "-"])
        #expect(
            run.status == 65 && run.stderr.contains("standard input is empty\n"), "\(run.stderr)")
    }

    @Test func theChatNamesIt() throws {
        they.home.files.write("empty.card", [])
        let path = they.home.files("empty.card")
        let run = try they.alice.run("chat", [path])
        #expect(
            run.stderr.contains("sotto chat: error: \(path) is empty\n")
                && run.stderr.contains("sotto chat: hint: get the card again"), "\(run.stderr)")
    }
}
