import Foundation
import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Copies that wait in the outbox for a person who was removed: they are held before the commit, deleted after it, and
/// released after a rollback.
@Suite(.timeLimit(.minutes(60))) struct HeldCopyTests {
    let circle: Circle
    private var alice: Party { circle["alice"] }
    private var carol: KeyID { circle["carol"].identity.id }

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
    }

    /// Uses the outbox. It is closed afterwards.
    private func outbox<T>(_ body: (Outbox) throws -> T) throws -> T {
        try body(alice.outbox())
    }

    /// Puts the copies of a message into the outbox.
    private func queue() throws {
        let sealed = try circle.must("alice", "encrypt", ["--group", "team"], "one")
        let copies = try sealed.records.filter { $0["suite"] == .string("group") }
        try outbox { outbox in
            _ = try outbox.append(
                copies.map { copy in
                    Outbox.Item(
                        id: copy["id"]?.string ?? "", to: copy["to"]?.string ?? "",
                        envelope: copy.serialized())
                }, relay: "r")
        }
    }

    /// The people whose copies `send` would send, and all whose copies wait.
    private func copies() throws -> (sendable: Set<String>, waiting: Set<String>) {
        try outbox { outbox in
            let sendable = try outbox.waiting(relay: "r", after: 0, limit: 100)
            #expect(try outbox.count(relay: "r") == sendable.count)
            return (Set(sendable.map(\.item.to)), Set(try outbox.list().map(\.to)))
        }
    }

    /// A program that ends without a commit, or before the commit is followed by the deletion.
    private struct Killed: Error {}

    /// Runs the steps of a transaction that finds the removal of Carol, as far as the commit.
    private func transaction(isCommitted: Bool) throws {
        let store = try alice.store()
        let group = try #require(GroupID(circle.onlyGroup("alice")))
        try? store.database.work { (connection: StateConnection) in
            let transaction = StateTransaction(store: store, connection: connection)
            transaction.formerMembers[group] = [carol]
            #expect(try transaction.holdCopies())
            if !isCommitted { throw Killed() }
        }
    }

    private func tokens() throws -> Int64 {
        try alice.state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM discarded")
        }
    }

    @Test func copiesOfARolledBackTransactionAreReleased() throws {
        try queue()
        let all = try copies().waiting
        #expect(all.count == 2)
        try transaction(isCommitted: false)
        // No program has opened the state since: the copy waits, and is not sent.
        #expect(try copies().waiting == all)
        #expect(try copies().sendable == all.subtracting([carol.description]))
        _ = try alice.store()
        #expect(try copies().sendable == all && tokens() == 0)
    }

    @Test func copiesOfACommittedTransactionAreDeleted() throws {
        try queue()
        let all = try copies().waiting
        try transaction(isCommitted: true)
        #expect(try copies().waiting == all && tokens() == 1)
        #expect(try copies().sendable == all.subtracting([carol.description]))
        _ = try alice.store()
        #expect(try copies().waiting == all.subtracting([carol.description]) && tokens() == 0)
        #expect(try outbox { try $0.outcomes().map(\.outcome) } == ["dropped"])
        // A program that ended between the two deletions left only the token.
        try alice.state { connection throws(StateError) in
            try connection.run("INSERT INTO discarded (token) VALUES (7)")
        }
        _ = try alice.store()
        #expect(try tokens() == 0)
    }

    /// Another program writes to the outbox: the transaction waits for two seconds at most, and changes nothing then.
    @Test func aBusyOutboxRollsBack() throws {
        try queue()
        let all = try copies().waiting
        let path = circle.home.files(alice.stateDirectory) + "/outbox.db"
        let writer = try DurableDatabase(path: path, migrations: [""], lockTimeout: 20)
        try writer.transaction { (_: StateConnection) throws(StateError) in
            do { try transactionThatMustFail() } catch { Issue.record("\(error)") }
        }
        try writer.close()
        #expect(try copies().sendable == all && tokens() == 0)
    }

    private func transactionThatMustFail() throws {
        let store = try alice.store()
        let group = try #require(GroupID(circle.onlyGroup("alice")))
        #expect(throws: StateError.self) {
            try store.transaction { $0.formerMembers[group] = [carol] }
        }
    }

    /// The number of changes of the group in Alice's state.
    private func changes() throws -> Int64 {
        try alice.state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM group_change")
        }
    }

    /// `kill -9` of `decrypt`, which opens the removal: no held copy leaves, and none is lost.
    @Test func aKilledProgramLosesNoCopy() throws {
        try withGenerator { random in
            try circle.group("alice", "role", "team", "bob", "moderator")
            try circle.settle()
            try queue()
            let all = try copies().waiting
            try circle.group("bob", "remove", "team", carol.description)
            let mail = Array(circle.take("alice").map { $0 + "\n" }.joined().utf8)
            let before = try changes()
            let state = circle.home.files(alice.stateDirectory)
            let kept = circle.home.files("kept")
            try FileManager.default.copyItem(atPath: state, toPath: kept)
            var moment = KillMoment()
            var outcomes: [Bool: Int] = [:]
            for _ in 0..<16 {
                try FileManager.default.removeItem(atPath: state)
                try FileManager.default.copyItem(atPath: kept, toPath: state)
                _ = try KillMoment.kill(
                    alice.command("decrypt", []), mail, &moment, &random)
                let sendable = try copies().sendable
                let isRemoved = try changes() > before
                if isRemoved { #expect(!sendable.contains(carol.description), random.comment) }
                _ = try alice.store()
                let after = try copies()
                #expect(after.sendable == after.waiting, random.comment)
                let left = after.waiting.contains(carol.description)
                #expect(after.waiting.union([carol.description]) == all, random.comment)
                if isRemoved { #expect(!left, random.comment) }
                outcomes[left, default: 0] += 1
                // The whole program ends the same way.
                #expect(try alice.run("decrypt", stdin: mail).status == 0)
                #expect(try !copies().waiting.contains(carol.description), random.comment)
            }
            #expect(outcomes[true] ?? 0 > 0, "\(outcomes) \(random.comment)")
        }
    }
}
