import Sotto
import TestSupport
import Testing

/// Codes that members make, and the end of codes, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct MemberInvitationTests {
    /// The invitations of a relay's store with this state.
    private func invitations(_ world: Correspondence, _ state: String) throws -> [JSONObject] {
        // An empty list has the status 1.
        try world.shell("alice", "relay invitations --store \(world.storePath)").lines
            .map { try JSON.object(parsing: Array($0.utf8)) }
            .filter { $0["state"]?.string == state }
    }

    private func invited(by quota: Int) throws -> Correspondence {
        let world = try Correspondence(["--invited", "--invitations-per-member", "\(quota)"])
        try world.expect(
            "alice", "relay admit --quiet --store \(world.storePath) alice.card")
        return world
    }

    @Test(arguments: ["tcp", "http"])
    func aMembersCodeAdmitsOnePerson(_ scheme: String) throws {
        let world = try invited(by: 2)
        let url = "--relay \(scheme)://\(world.relay.address)"
        try world.expect("alice", "recv \(url) --invite --label Bob > code")
        #expect(world.errors.contains("the code makes one person a member, within 7 days"))
        let open = try invitations(world, "open")
        #expect(open.count == 1 && open[0]["label"]?.string == "Bob")
        #expect(open[0]["inviter"]?.string == world.alice.id.description)
        // The operator sees the tag of a code, not the code.
        let code = try #require(world.scratch.lines("code").first)
        #expect(
            TemporaryDirectory.contents(world.storePath).firstRange(of: Array(code.utf8)) == nil)
        #expect(world.shell("bob", "recv \(url)").status == 77)
        try world.expect("bob", "recv \(url) --invitation @FILE:code")
        #expect(world.shell("bob", "recv \(url)").status == 1)
        #expect(world.shell("carol", "recv \(url) --invitation @FILE:code").status == 77)
        #expect(world.errors.contains("was used before"), "\(world.errors)")
        let members = try world.expect("alice", "relay members --store \(world.storePath)")
            .map { try JSON.object(parsing: Array($0.utf8)) }
        let bob = members.first { $0["id"]?.string == world.bob.id.description }
        #expect(bob?["inviter"]?.string == world.alice.id.description)
        #expect(bob?["label"]?.string == "Bob")
        for label in ["''", "\"$(printf 'a\\tb')\"", "$(printf '%065d' 1)"] {
            #expect(world.shell("alice", "recv \(url) --invite --label \(label)").status == 64)
        }
        world.stop()
    }

    @Test(arguments: ["tcp", "http"])
    func anEndedCodeAdmitsNobody(_ scheme: String) throws {
        let world = try invited(by: 1)
        let url = "--relay \(scheme)://\(world.relay.address)"
        try world.expect("alice", "recv -q \(url) --invite > code")
        // An open code counts.
        #expect(world.shell("alice", "recv \(url) --invite").status == 77)
        #expect(world.errors.contains("allows you no more invitations"), "\(world.errors)")
        let tag = try #require(invitations(world, "open").first?["tag"]?.string)
        try world.expect("alice", "relay revoke --store \(world.storePath) \(tag)")
        #expect(try invitations(world, "open").isEmpty)
        #expect(world.shell("bob", "recv \(url) --invitation @FILE:code").status == 77)
        // An ended code counts no longer, and ends only once.
        #expect(world.shell("alice", "relay revoke --store \(world.storePath) \(tag)").status == 1)
        #expect(world.shell("alice", "relay revoke --store \(world.storePath) 00").status == 64)
        try world.expect("alice", "recv -q \(url) --invite > code")
        // A used code is not ended, and its member stays.
        let used = try #require(invitations(world, "open").first?["tag"]?.string)
        try world.expect("bob", "recv -q \(url) --invitation @FILE:code")
        let revoke = "relay revoke --store \(world.storePath) \(used)"
        #expect(world.shell("alice", revoke).status == 1)
        let bob = world.bob.id.description
        #expect(
            world.errors.contains(
                "\(used) was used by \(bob); to end the membership: sotto relay admit --store "),
            "\(world.errors)")
        #expect(world.shell("bob", "recv \(url)").status == 1)
        // Only a login tells that the membership ended.
        let whoami = "SOTTO_RELAY=\(scheme)://\(world.relay.address) sotto whoami -i bob.key"
        #expect(try !world.expect("bob", whoami).contains { $0.hasPrefix("login") })
        try world.expect("alice", "relay admit -q --remove --store \(world.storePath) \(bob)")
        let shown = try world.expect("bob", whoami).first { $0.hasPrefix("login") } ?? ""
        #expect(
            shown.contains("refused: the relay serves only members")
                && shown.contains("sotto recv -i bob.key --invitation @FILE:code"), "\(shown)")
        #expect(world.shell("alice", revoke).status == 1)
        #expect(world.errors.contains("\(bob), who is no member any more"), "\(world.errors)")
        world.stop()
    }

    @Test func onlyMembersMakeCodes() throws {
        let world = try invited(by: 3)
        #expect(world.shell("bob", "recv --invite").status == 77)
        try world.expect("alice", "recv -q --invite > code")
        let remove = "relay admit --remove --store \(world.storePath) alice.card"
        try world.expect("alice", remove)
        #expect(world.shell("alice", remove).status == 1)
        #expect(world.errors.contains("is not a member"), "\(world.errors)")
        #expect(world.shell("alice", "recv --invite").status == 77)
        world.stop()
        // Without a number members make none.
        let closed = try invited(by: 0)
        #expect(closed.shell("alice", "recv --invite").status == 77)
        closed.stop()
        // An open relay has no members.
        let open = try Correspondence()
        #expect(open.shell("alice", "recv --invite").status == 77)
        open.stop()
    }
}
