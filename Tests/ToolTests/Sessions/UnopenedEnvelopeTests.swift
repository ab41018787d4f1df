import Sotto
import SottoState
import TestSupport
import Testing

/// Envelopes that nothing here opens wait in the inbox, within limits.
struct UnopenedEnvelopeTests {
    private let couple: Couple
    /// The envelopes of Alice in a session that the new state of Bob does not have.
    private let lines: [String]
    private var bob: Party { couple.bob }

    init() throws {
        couple = try Couple()
        try couple.begin()
        lines = try couple.alice.write((0..<30).map { "\($0)" }, to: couple.bob)
    }

    /// The environment of Bob with an empty state.
    private var environment: [String: String] {
        bob.environment.merging(["SOTTO_HOME": couple.home.files("new")]) { $1 }
    }

    private func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: couple.home.files("new")), identity: bob.identity,
            lockTimeout: 20)
    }

    /// Puts envelopes into the inbox, and reads them as from `recv`. Returns the run of `decrypt`.
    private func receive(_ lines: [String]) throws -> Run {
        let store = try store()
        let mail = try lines.map { line in
            let bytes = Array(line.utf8)
            return (id: try JSON.object(parsing: bytes)["id"]?.string ?? "", envelope: bytes)
        }
        let states = try store.receive(mail, to: .print)
        #expect(states.allSatisfy { $0 == .new })
        try store.markPrinted(mail.map(\.id))
        return try couple.home.run(
            "decrypt", [], stdin: .whole(Array(lines.map { $0 + "\n" }.joined().utf8)),
            environment: environment)
    }

    private func recv(_ arguments: String...) throws -> Run {
        try couple.home.run("recv", arguments, environment: environment)
    }

    /// Returns an envelope with other members.
    private func changed(_ line: String, from sender: KeyID? = nil) throws -> String {
        var record = try JSON.object(parsing: Array(line.utf8))
        record["id"] = .string(Envelope.newID())
        if let sender { record["from"] = .string(sender.description) }
        return String(decoding: record.serialized(), as: UTF8.self)
    }

    /// Copies of one envelope are one, and a stranger leaves few.
    @Test func aStrangerLeavesFew() throws {
        let copies = try receive([lines[0]] + (0..<300).map { _ in try changed(lines[0]) })
        #expect(copies.status != 0, "\(copies.stderr)")
        #expect(try store().unopenedCount() == 1)
        let others = try receive(Array(lines[1...]))
        #expect(others.status == 10 && others.stderr.contains("sotto recv --forget all"))
        #expect(try store().unopenedCount() == 20)
        let alice = couple.alice.identity.id
        let wrong = try recv("--forget", bob.identity.id.description)
        #expect(wrong.status == 1, "\(wrong.stderr)")
        let right = try recv("--forget", alice.description)
        #expect(right.status == 0 && right.stderr.contains("deleted 20"), "\(right.stderr)")
        #expect(try store().unopenedCount() == 0)
        #expect(try recv("--again").status == 1)
        #expect(try recv("--forget", "some").status == 64)
    }

    /// Ids that an attacker makes displace each other, and nothing of a contact.
    @Test func aFloodKeepsTheMailOfContacts() throws {
        let added = try couple.home.run(
            "contact", ["add", couple.alice.card], environment: environment)
        #expect(added.status == 0, "\(added.stderr)")
        let known = try receive(lines)
        #expect(known.stderr.contains("contact repair"), "\(known.stderr)")
        #expect(try store().unopenedCount() == 30)
        let flood = try (0..<250).map { _ in
            try changed(lines[0], from: Sample.identity().id)
        }
        _ = try receive(flood)
        // They take no room of other mail.
        #expect(try store().unopenedCount() == 230)
        let again = try recv("--again")
        #expect(lines.allSatisfy { again.text.contains($0) })
        #expect(try recv("--forget", "all").stderr.contains("deleted 230"))
    }

    /// Envelopes that this version cannot read are bounded too.
    @Test func unreadableEnvelopesAreFew() throws {
        let odd = try (0..<250).map { _ in
            try changed(lines[0]).replacing("\"suite\":\"ratchet\"", with: "\"suite\":\"later\"")
        }
        _ = try receive(odd)
        #expect(try store().unopenedCount() == 200)
    }
}
