import Foundation
import Sotto
import Testing

/// The example in the library's overview, Sources/Sotto/Sotto.docc/Sotto.md.
struct OverviewTests {
    @Test func theExampleSealsAndOpensAMessage() throws {
        // begin
        let alice = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "alice")
        let bob = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "bob")

        let envelope = try Sealed.seal(
            body: Message.textBody("hello, bob"), from: alice, to: bob.card(), time: .now())
        let line = envelope.record.serialized()

        let received = try Envelope(record: JSON.object(parsing: line))
        let message = try Sealed.open(received, with: bob)
        // end
        #expect(message.from == alice.id)
        #expect(message.body["text"] == .string("hello, bob"))
    }

    @Test func theOverviewHasTheCompiledExample() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(source.firstIndex(of: "        // begin"))
        let end = try #require(source.firstIndex(of: "        // end"))
        let example = source[(begin + 1)..<end].map { String($0.dropFirst(8)) }
        let overview = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../Sources/Sotto/Sotto.docc/Sotto.md"), encoding: .utf8)
        let text = "```swift\n" + example.joined(separator: "\n") + "\n```\n"
        #expect(overview.contains(text))
    }
}
