import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

/// A lost machine and `sotto init --recover`, with the built programs and a relay.
@Suite(.timeLimit(.minutes(60))) final class RecoveryTests {
    private let home = Home()
    private let scratch = TemporaryDirectory()
    private let clock: MovedClock
    private let relay: RelayProcess
    private var people: [String: Party] = [:]

    init() throws {
        clock = try MovedClock()
        relay = try #require(RelayProcess(scratch))
        for name in ["alice", "bob"] {
            people[name] = try Party(name, in: home)
            people[name]?.clock = clock
        }
        try shell(
            "alice", "contact add -q bob.card; keygen public --relay $SOTTO_RELAY > alice.new")
        try shell("bob", "contact add -q alice.new")
        // The numbers of prekeys begin at the time in seconds: those of the lost state would reach into the next ones.
        clock.set(-1_000)
        for name in ["alice", "bob"] { try shell(name, "keygen prekeys | send -q") }
    }

    deinit { relay.end() }

    private func command(_ name: String, _ line: String) -> Command {
        people[name]!.command(line: line, at: relay)
    }

    private func run(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.run(line: line, at: relay, text)
    }

    @discardableResult
    private func shell(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.shell(line, at: relay, text)
    }

    private func read(_ name: String) throws -> Run {
        try run(name, "recv -q > \(name).mail; decrypt < \(name).mail")
    }

    /// Alice writes in a session; Bob saves a backup and reads on; then his machine is lost, with mail on its way. Returns his words.
    private func loseMachine() throws -> String {
        defer { clock.set(0) }
        try shell("alice", "recv -q --bundle bob > bundle; encrypt -q --to bob | send -q", "one")
        #expect(try read("bob").messages.map(\.text) == ["one"])
        try shell("bob", "env history export -q --backup -o state.age")
        try shell("alice", "encrypt -q --to bob | send -q", "two")
        #expect(try read("bob").messages.map(\.text) == ["two"])
        let words = try shell("bob", "keygen words").text
        try shell("bob", "keygen words | qr -t png -o words.png")
        try shell("bob", "rm -r state-bob bob.key")
        try shell("alice", "encrypt -q --to bob | send -q", "three")
        return words
    }

    /// Alice sends again what may be unread. Returns what Bob has then.
    private func repeatAll() throws -> [String] {
        let told = try run("alice", "recv -q > alice.mail; decrypt --text < alice.mail")
        #expect(told.text.contains("sotto history repeat bob --send"), "\(told.text)")
        clock.set(100)
        try shell(
            "alice", "contact set bob repair=auto; env history repeat -q bob | encrypt -q | send -q"
        )
        _ = try read("bob")
        return try people["bob"]!.history("alice").compactMap { $0.body["text"]?.string }.sorted()
    }

    /// Without a terminal the program asks nothing: the picture of the words and the backup are options, and contacts are not told.
    @Test func aMachineIsRecoveredFromAPictureAndABackup() throws {
        _ = try loseMachine()
        let run = try shell(
            "bob",
            // The clock reads a file, which the sandbox of the scan does not permit.
            "unset LD_PRELOAD; sotto init --recover --picture words.png --backup state.age --relay tcp://\(relay.address) --name bob --no-passphrase < /dev/null"
        )
        #expect(run.stderr.contains("your id is the same"))
        #expect(run.stderr.contains("The sessions of the lost machine are gone"))
        #expect(run.stderr.contains("Restored: the contacts, groups and messages of the backup"))
        // The questions for members go into new sessions.
        let steps = ["sotto contact repair --send", "sotto group sync --send", "sotto read"]
        let places = steps.compactMap { run.text.range(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted(), "\(run.text)")
        #expect(try people["bob"]!.store().preview { try $0.newState()?.cause } == .made)
        // The relay has the prekeys of the new state, and says nothing of another machine but the lost one.
        let lost = try read("bob")
        #expect(lost.status == 10 && lost.stderr.contains("claims to be from alice"), "\(lost)")
        try shell("bob", "contact repair -q --json | encrypt -q | send -q")
        #expect(try repeatAll() == ["one", "three", "two"])
        try shell("alice", "recv -q --bundle bob > bundle; encrypt -q --to bob | send -q", "four")
        let last = try read("bob")
        #expect(try last.messages.map(\.text) == ["four"], "\(last)")
    }

    /// On a terminal the words and the relay are typed, and contacts are told after a question.
    @Test(arguments: [true, false]) func onATerminalContactsAreToldAfterAQuestion(_ tells: Bool)
        throws
    {
        let words = try loseMachine()
        let session = try TerminalSession(
            command(
                "bob",
                "unset SOTTO_RELAY; sotto init --recover --backup state.age --name bob --no-passphrase"
            ))
        try session.expect("Your recovery words: ")
        try session.type(words)
        try session.expect("The address of your relay")
        try session.type("tcp://\(relay.address)\n")
        try session.expect("Type yes to tell all of them: ")
        try session.type(tells ? "yes\n" : "no\n")
        let run = try session.finish()
        #expect(run.status == 0 && run.text.contains("Restored: "), "\(run.text)")
        // The words are not shown.
        #expect(!run.text.contains(words.prefix(30)))
        #expect(run.text.contains("sotto contact repair --send") == !tells)
        guard tells else { return #expect(try read("alice").stdout.isEmpty) }
        #expect(try repeatAll() == ["one", "three", "two"])
    }

    /// A note names the rest, with the command to restore it.
    @Test func aBackupThatCannotBeReadIsNamed() throws {
        let words = try loseMachine()
        home.files.write("state.age", Array("no backup".utf8))
        let run = try run(
            "bob",
            "sotto init --recover --backup state.age --relay tcp://\(relay.address) --no-passphrase",
            words)
        #expect(run.status == 65, "\(run.stderr)")
        #expect(run.stderr.contains("Not restored: contacts, groups and messages."))
        #expect(run.stderr.contains("sotto history import state.age"))
        let repair = try self.run("bob", "sotto contact repair", "")
        #expect(repair.status == 1 && repair.stderr.contains("the address book is empty"))
        let other = try self.run(
            "bob", "sotto init --recover --no-passphrase", words.uppercased())
        // The identity exists now, and is never replaced.
        #expect(other.status == 73)
    }

    @Test func wrongWordsRestoreNothing() throws {
        _ = try loseMachine()
        let run = try run(
            "bob", "sotto init --recover --no-passphrase", "abandon abandon abandon\n")
        #expect(run.status != 0, "\(run.stderr)")
        #expect(!FileManager.default.fileExists(atPath: home.files("bob.key")))
        let picture = try self.run(
            "bob",
            "unset LD_PRELOAD; sotto init --recover --picture alice.card --no-passphrase < /dev/null"
        )
        #expect(picture.status != 0, "\(picture.stderr)")
        #expect(!FileManager.default.fileExists(atPath: home.files("bob.key")))
    }
}
