import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// A state that was put back to an earlier one learns it from a change of its owner that a member has.
@Suite(.timeLimit(.minutes(60))) struct PutBackGroupTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "one")
        try circle.settle()
    }

    private func cause(_ who: String) throws -> NewState.Cause? {
        try circle[who].causeOfNewState()
    }

    /// Bob writes, Alice asks for what she lacks, and he answers. Returns the run in which she reads the answer.
    private func ask(in group: String) throws -> Run {
        try circle.say("bob", "two", to: group)
        try circle.texts("alice")
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.group("bob", "sync")
        return try circle.read("alice")
    }

    @Test func aChangeThatTheStateDidNotMakeIsAProof() throws {
        try circle["alice"].ageState()
        let snapshot = try StateSnapshot(of: circle["alice"])
        try circle.group("alice", "rename", "team", "crew")
        try circle.say("alice", "lost", to: "crew")
        try circle.settle()
        try snapshot.putBack(to: circle["alice"])
        #expect(try cause("alice") == nil)
        let run = try ask(in: "crew")
        #expect(run.status == 0)
        #expect(run.stderr.contains("is an earlier one"), "\(run.stderr)")
        #expect(run.stderr.contains("sotto contact repair --send"))
        #expect(try cause("alice") == .behind)
        #expect(try circle["alice"].run("contact", ["repair", "--json"]).status == 0)
        // Her next message is of a new chain, so that it repeats no key, and all members read all messages.
        for name in ["alice", "bob", "carol"] {
            try circle.say(name, "from \(name)", to: "crew")
            try circle.settle()
        }
        for name in ["bob", "carol"] {
            #expect(
                try circle.history(name, "crew")
                    == ["one", "lost", "two", "from alice", "from bob", "from carol"])
        }
        #expect(
            try circle.history("alice", "crew")
                == ["one", "two", "from alice", "from bob", "from carol"])
        #expect(try circle.state("alice", "crew") == circle.state("bob", "crew"))
        // Once: a second change that is lost says nothing.
        let second = try StateSnapshot(of: circle["alice"])
        try circle.group("alice", "rename", "crew", "team")
        try circle.settle()
        try second.putBack(to: circle["alice"])
        let again = try ask(in: "team")
        #expect(again.status == 0 && !again.stderr.contains("earlier"), "\(again.stderr)")
    }

    /// A copy of an earlier state uses no place of its chain twice, so that all members read what is written before a repair.
    @Test func aCopyOfAnEarlierStateBeginsANewChain() throws {
        let alice = circle["alice"]
        let (files, state) = (FileManager.default, circle.home.files(alice.stateDirectory))
        try files.copyItem(atPath: state, toPath: state + "-copy")
        try circle.say("alice", "lost")
        try circle.settle()
        try files.removeItem(atPath: state)
        try files.moveItem(atPath: state + "-copy", toPath: state)
        #expect(try cause("alice") == .copied)
        try circle.say("alice", "two")
        try circle.settle()
        for name in ["bob", "carol"] {
            #expect(try circle.history(name, "team") == ["one", "lost", "two"])
        }
    }

    /// A backup lacks the last changes too: its state is new already, and the changes are from before it.
    @Test func aRestoredGroupIsNoProof() throws {
        try circle.backUp("alice")
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        try circle.group("alice", "sync", try circle.onlyGroup("alice"))
        try circle.settle()
        for name in ["bob", "carol"] { try circle.group(name, "sync") }
        let run = try circle.read("alice")
        #expect(run.status == 0 && !run.stderr.contains("earlier"), "\(run.stderr)")
        #expect(try cause("alice") == .made)
    }

    /// Other people's changes, and those of a group that is new here, prove nothing.
    @Test func theChangesOfOthersAreNoProof() throws {
        try circle["alice"].ageState()
        try circle["bob"].ageState()
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        try circle.group("bob", "rename", "team", "crew")
        try circle.settle()
        #expect(try cause("alice") == nil && cause("bob") == nil)
    }
}
