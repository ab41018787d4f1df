import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// One identity on two machines by mistake, and states that were copied or put back, with the built programs and a relay. After
/// each, the conversation goes on and nothing is lost that a contact can send again.
@Suite(.timeLimit(.minutes(60))) final class TwoMachinesTests {
    private let home = Home()
    private let scratch = TemporaryDirectory()
    private let clock: MovedClock
    private let relay: RelayProcess
    private var people: [String: Party] = [:]

    init() throws {
        clock = try MovedClock()
        relay = try #require(RelayProcess(scratch))
        for name in ["alice", "bob"] { people[name] = try Party(name, in: home) }
        home.files.write("laptop.key", try home.files.read("bob.key"))
        people["laptop"] = Party(name: "laptop", identity: people["bob"]!.identity, home: home)
        for name in people.keys { people[name]?.clock = clock }
        try shell("alice", "contact add -q bob.card; keygen prekeys | send -q")
        try shell("bob", "contact add -q alice.card; keygen prekeys | send -q")
    }

    deinit { relay.end() }

    private var bob: Party { people["bob"]! }

    private func run(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.run(line: line, at: relay, text)
    }

    @discardableResult
    private func shell(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.shell(line, at: relay, text)
    }

    private func say(_ name: String, _ text: String, to peer: String) throws {
        try shell(name, "encrypt -q --to \(peer) | send -q", text)
    }

    /// Receives and opens mail. Returns the texts and the notes.
    private func read(
        _ name: String, _ scheme: String = "tcp"
    ) throws -> (texts: [String], notes: String) {
        let run = try run(
            name,
            "recv --relay \(scheme)://\(relay.address) > \(name).mail; decrypt < \(name).mail")
        return (try run.messages.map(\.text), run.stderr)
    }

    private func texts(_ name: String, with peer: String) throws -> [String] {
        try people[name]!.history(peer).compactMap { $0.body["text"]?.string }
    }

    private func cause(_ name: String) throws -> NewState.Cause? {
        try people[name]!.causeOfNewState()
    }

    /// Makes Bob's state old.
    private func age() throws {
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE number SET value = 1 WHERE name = 'made'")
        }
        #expect(try cause("bob") == nil)
    }

    /// Alice and Bob have a session that both used.
    private func beginSession() throws {
        try shell("alice", "recv -q --bundle bob > bundle")
        try say("alice", "first", to: "bob")
        #expect(try read("bob").texts == ["first"])
        try say("bob", "answer", to: "alice")
        #expect(try read("alice").texts == ["answer"])
    }

    /// A machine tells Alice of its state, she sends again what may be unread, and they write on in a new session.
    private func heal(_ name: String) throws {
        try shell(name, "contact repair -q --json | encrypt -q | send -q")
        let told = try run("alice", "recv -q > alice.mail; decrypt --text < alice.mail")
        #expect(told.text.contains("sotto history repeat bob --send"), "\(told.text)")
        clock.set(100)
        try shell(
            "alice", "contact set bob repair=auto; env history repeat -q bob | encrypt -q | send -q"
        )
        _ = try read(name)
        // The reception after the repair publishes new prekeys.
        try shell("alice", "recv -q --bundle bob > bundle")
        for round in 1...2 {
            try say("alice", "a \(round)", to: "bob")
            #expect(try read(name).texts == ["a \(round)"])
            try say(name, "b \(round)", to: "alice")
            #expect(try read("alice").texts == ["b \(round)"])
        }
    }

    private static let healed = ["a 1", "b 1", "a 2", "b 2"]

    // MARK: Two machines

    @Test(arguments: ["tcp", "ws", "http"])
    func twoMachinesAreToldOfEachOtherOnce(_ scheme: String) throws {
        try shell("laptop", "contact add -q alice.card")
        for (place, name) in ["bob", "laptop", "bob", "laptop", "bob"].enumerated() {
            try say("alice", "text \(place)", to: "bob")
            let (texts, notes) = try read(name, scheme)
            #expect(texts == ["text \(place)"], "\(notes)")
            #expect(notes.contains("another machine") == (1...2).contains(place), "\(notes)")
            guard place == 1 else { continue }
            let today = Timestamp.now().description.prefix(10)
            #expect(notes.contains("used this identity on \(today)") || today != day, "\(notes)")
            #expect(notes.contains("TWO MACHINES in sotto(7)"))
        }
    }

    private let day = Timestamp.now().description.prefix(10)

    @Test func oneMachineIsNotToldOfItself() throws {
        for place in 0..<3 {
            try say("alice", "text \(place)", to: "bob")
            let (texts, notes) = try read("bob", ["tcp", "ws", "http"][place])
            #expect(texts == ["text \(place)"])
            #expect(!notes.contains("machine") && !notes.contains("earlier"), "\(notes)")
        }
    }

    // MARK: Copies

    @Test func aCopiedStateGoesOn() throws {
        try beginSession()
        try bob.ageState()
        try shell("bob", "cp -a state-bob state-laptop")
        try say("alice", "one", to: "bob")
        let (texts, notes) = try read("laptop")
        #expect(texts == ["one"] && notes.contains("another machine"), "\(notes)")
        #expect(try cause("laptop") == .copied)
        // The state that was copied is the same as before.
        #expect(try cause("bob") == nil)
        try heal("laptop")
        #expect(
            try self.texts("laptop", with: "alice") == ["first", "answer", "one"] + Self.healed)
        #expect(try self.texts("alice", with: "bob") == ["first", "answer", "one"] + Self.healed)
    }

    /// Mail that came after the copy was made cannot be opened on the other machine. The backup of the copy has messages that this
    /// machine did not send.
    @Test func theBackupOfACopyProvesThatItWasUsed() throws {
        try beginSession()
        try bob.ageState()
        try shell("bob", "cp -a state-bob state-laptop")
        try say("laptop", "from the copy", to: "alice")
        #expect(try read("alice").texts == ["from the copy"])
        try say("alice", "to the copy", to: "bob")
        #expect(try read("laptop").texts == ["to the copy"])
        try shell(
            "laptop", "env history export --backup -q -o other.age; env history wipe -q --yes")
        let imported = try run("bob", "env history import other.age")
        #expect(imported.stderr.contains("is an earlier one"), "\(imported.stderr)")
        #expect(try cause("bob") == .behind)
        // It proves nothing again.
        let again = try run("bob", "env history import other.age")
        #expect(!again.stderr.contains("earlier"), "\(again.stderr)")
        try heal("bob")
        let all = ["first", "answer", "from the copy", "to the copy"] + Self.healed
        let found = try self.texts("bob", with: "alice")
        #expect(found.sorted() == all.sorted(), "\(found)")
        #expect(try self.texts("alice", with: "bob") == all)
    }

    /// The folder is copied back after more messages. With `writes`, a session began before the contact is told that a message
    /// could not be opened.
    @Test(arguments: [false, true])
    func aFolderThatIsCopiedBackGoesOn(_ writes: Bool) throws {
        try beginSession()
        try bob.ageState()
        try shell("bob", "cp -a state-bob backup")
        try say("alice", "one", to: "bob")
        #expect(try read("bob").texts == ["one"])
        try say("bob", "two", to: "alice")
        #expect(try read("alice").texts == ["two"])
        try shell("bob", "rm -r state-bob && cp -a backup state-bob")
        try say("alice", "three", to: "bob")
        let (texts, notes) = try read("bob")
        // Alice's new chain is unknown here.
        #expect(texts == [] && notes.contains("backup"), "\(notes)")
        #expect(notes.contains("another machine"))
        #expect(try cause("bob") == .copied)
        if writes {
            clock.set(10)
            try say("bob", "four", to: "alice")
            #expect(try read("alice").texts == ["four"])
        }
        try heal("bob")
        let found = try self.texts("bob", with: "alice")
        let new = (writes ? ["four"] : []) + Self.healed
        #expect(
            found.sorted() == (["first", "answer", "one", "three"] + new).sorted(), "\(found)")
        #expect(
            try self.texts("alice", with: "bob") == ["first", "answer", "one", "two", "three"] + new
        )
    }

    /// Nothing on the machine shows that the content of the file was put back. The prekeys at the relay have the owner's signature,
    /// and prove it.
    @Test func aStateThatWasPutBackIsProvenByItsPrekeysAndGoesOn() throws {
        try beginSession()
        try bob.ageState()
        let snapshot = try StateSnapshot(of: bob)
        try bob.state { connection throws(StateError) in
            try connection.run("INSERT INTO number (name, value) VALUES ('prekeys wanted', 1)")
        }
        try say("alice", "one", to: "bob")
        #expect(try read("bob").texts == ["one"])
        try snapshot.putBack(to: bob)
        #expect(try cause("bob") == nil)
        try say("alice", "two", to: "bob")
        let (texts, notes) = try read("bob")
        #expect(texts == ["two"] && notes.contains("is an earlier one"), "\(notes)")
        #expect(try cause("bob") == .behind)
        // The note comes once.
        try say("alice", "three", to: "bob")
        let next = try read("bob")
        #expect(next.texts == ["three"] && !next.notes.contains("earlier"), "\(next.notes)")
        try heal("bob")
        let found = try self.texts("bob", with: "alice")
        let all = ["first", "answer", "one", "two", "three"] + Self.healed
        #expect(found.sorted() == all.sorted(), "\(found)")
        #expect(try self.texts("alice", with: "bob") == all)
    }

    /// A state that was put back, and does not know it: the contact refuses what repeats a key, until a new session begins.
    @Test func newSessionsHelpAStateThatWasPutBack() throws {
        try beginSession()
        try age()
        let snapshot = try StateSnapshot(of: bob)
        try say("bob", "one", to: "alice")
        #expect(try read("alice").texts == ["one"])
        try snapshot.putBack(to: bob)
        try say("bob", "lost", to: "alice")
        #expect(try read("alice").texts == [])
        let refused = try run("bob", "contact repair --json")
        #expect(refused.status == 1)
        #expect(refused.stderr.contains("sotto encrypt --new-session"), "\(refused.stderr)")
        try shell("alice", "keygen prekeys | send -q")
        try shell("bob", "recv -q --bundle alice > bundle")
        try shell("bob", "encrypt -q --new-session --to alice | send -q", "two")
        #expect(try read("alice").texts == ["two"])
        try say("alice", "three", to: "bob")
        #expect(try read("bob").texts == ["three"])
    }
}
