import TestSupport
import Testing

@Test func programsAreFound() throws {
    let home = try Home(people: "alice", "bob")
    print(CommandLine.arguments)
    let run = try home.run("encrypt", ["-r", "bob.card"], text: "hello")
    let back = try home.run("decrypt", ["-i", "bob.key"], stdin: .singly(run.stdout))
    #expect(back.text == "hello", "\(run.stderr) \(back.stderr)")
}
