import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

/// Tests of cards with different dates, and of the addresses in them and in backups.
struct CardAgeTests {
    let home: Home
    let alice: Party
    let bob: Party

    init() throws {
        home = Home()
        alice = try Party("alice", in: home)
        bob = try Party("bob", in: home)
    }

    private func write(
        _ name: String, _ address: SendAddress?, _ seconds: Int64?
    ) throws -> KeyID? {
        let card = bob.identity.card(
            address: address, issued: seconds.map { Timestamp(seconds: 1_790_000_000 + $0) })
        try home.files.write(name, #require(card.record).serialized())
        return address?.id(of: bob.identity)
    }

    private func kept() throws -> KeyID? {
        let run = try alice.run("contact", ["show", "--card", "bob"])
        return try Card(record: JSON.object(parsing: run.stdout)).address
    }

    @Test func anOlderSignedCardDoesNotReplaceANewerOne() throws {
        let revoked = try write("revoked.card", SendAddress(), 0)
        let current = try write("current.card", SendAddress(), 10)
        _ = try write("undated.card", SendAddress(), nil)
        #expect(try alice.run("contact", ["add", "revoked.card"]).status == 0)
        #expect(try kept() == revoked)
        #expect(
            try alice.run("contact", ["add", "current.card"]).stderr.contains("stored the new"))
        for old in ["revoked.card", "undated.card"] {
            let run = try alice.run("contact", ["add", old])
            #expect(run.status == 0 && run.stderr.contains("is older than"), "\(run.stderr)")
            #expect(try kept() == current)
            #expect(try alice.run("contact", ["verify", "bob", "--scan", old]).status == 0)
            #expect(try kept() == current)
            // A revoked address is not used, even if the old file is given.
            let sent = try alice.run("encrypt", ["--to", old], stdin: Array("x".utf8))
            let envelope = try Envelope(record: JSON.object(parsing: sent.stdout))
            #expect(envelope.to == current, "\(sent.stderr)")
        }
        // If both have the same second, the one that was added last is used.
        let other = try write("other.card", SendAddress(), 10)
        _ = try alice.run("contact", ["add", "other.card"])
        #expect(try kept() == other)
        let later = try write("later.card", nil, 11)
        _ = try alice.run("contact", ["add", "later.card"])
        #expect(try kept() == later)
    }

    @Test func aCardForOneContactHasItsDate() throws {
        _ = try bob.run("contact", ["add", alice.card])
        let run = try bob.run("contact", ["address", "alice"])
        #expect(try Card(record: JSON.object(parsing: run.stdout)).issued != nil)
    }

    // MARK: Backups

    private func restore(_ backup: [UInt8]) throws {
        let run = try bob.run("contact", ["import"], stdin: backup)
        #expect(run.status == 0, "\(run.stderr)")
    }

    private func addresses() throws -> [KeyID] {
        let store = try IdentityStore(
            directory: StateDirectory(path: home.files(bob.stateDirectory)),
            identity: bob.identity, lockTimeout: 10)
        return try store.addresses().map { $0.id(of: bob.identity) }
    }

    /// Returns a message of Alice to the address that she was given.
    private func mail(_ card: [UInt8]) throws -> [UInt8] {
        home.files.write("for-alice.card", card)
        return try alice.run(
            "encrypt", ["--to", "for-alice.card"], stdin: Array("hello".utf8)
        ).stdout
    }

    @Test func aRestoredBackupBringsBackTheAddresses() throws {
        _ = try bob.run("contact", ["add", alice.card])
        let first = try bob.run("contact", ["address", "alice"]).stdout
        let second = try bob.run("contact", ["address", "--new", "alice"]).stdout
        let before = try addresses()
        let backup = try bob.run("contact", ["export", "--backup"]).stdout
        let letters = [try mail(first), try mail(second)]
        for isKnown in [false, true] {
            try FileManager.default.removeItem(atPath: home.files(bob.stateDirectory))
            if isKnown { _ = try bob.run("contact", ["add", alice.card]) }
            try restore(backup)
            #expect(try addresses() == before)
            for letter in letters {
                let read = try bob.run("decrypt", ["--text"], stdin: letter)
                #expect(read.text == "hello\n", "\(isKnown): \(read.stderr)")
            }
        }
        // An address that was revoked since then stays revoked.
        _ = try bob.run("contact", ["address", "--revoke", "alice"])
        try restore(backup)
        #expect(try addresses().isEmpty)
    }

    @Test func anAcceptedKeyKeepsTheAddress() throws {
        _ = try bob.run("contact", ["add", alice.card])
        _ = try bob.run("contact", ["address", "alice"])
        let before = try addresses()
        _ = try Party("other", in: home)
        #expect(try bob.run("contact", ["add", "--name", "alice", "other.card"]).status == 12)
        #expect(try bob.run("contact", ["accept-key", "alice"]).status == 0)
        #expect(try addresses() == before)
    }
}
