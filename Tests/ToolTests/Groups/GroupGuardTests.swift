import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Attacks of members, former members and strangers on a group.
@Suite(.timeLimit(.minutes(60))) struct GroupGuardTests {
    // MARK: Strangers

    /// C15: a stranger who knows the id of a group stores nothing: no card, no note, no message and no session.
    @Test func c15CardsOfStrangersAreNotKept() throws {
        let circle = try Circle("alice", "bob", "carol", "mallory")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        let group = try circle.groupID("bob")
        try circle.must("mallory", "contact", ["add", circle["bob"].card])
        try circle.must("carol", "contact", ["add", circle["bob"].card])
        let log = try circle.must("bob", "group", ["log", "team"]).records
        func flood(_ who: String) throws {
            var body = GroupBody(group)
            body.cards = (0..<5).compactMap { _ in Sample.identity().card().record }
            body.request = try log.map { try GroupChange($0).id }
            try circle.tell(who, "bob", body)
            #expect(try circle.read("bob").stdout.isEmpty)
        }
        // The first message of Carol to Bob begins a session.
        try circle.tell("carol", "bob", GroupBody(group))
        try circle.read("bob")
        let before = try rows(circle["bob"])
        try flood("mallory")
        #expect(try rows(circle["bob"]) == before)
        try flood("carol")
        try flood("carol")
        #expect(try rows(circle["bob"]) == before)
        // Bob sends nothing to them, but what Carol had asked for before.
        let ids = [circle["mallory"].identity.id.description]
        let news = try circle.must("bob", "group", ["sync"]).records
        #expect(!news.contains { ids.contains($0["to"]?.string ?? "") })
        // A member's card of an invited person is kept.
        try circle.say("alice", "hello")
        #expect(try circle.texts("bob") == ["hello"])
    }

    /// The numbers of rows that a message could add.
    private func rows(_ party: Party) throws -> [String: Int64] {
        try party.state { connection throws(StateError) in
            var counts: [String: Int64] = [:]
            for table in ["group_member", "message", "group_change", "group_chain", "session"] {
                counts[table] = try connection.integer("SELECT count(*) FROM \(table)")
            }
            return counts
        }
    }

    // MARK: Answers

    /// C22: a member gets a message again once an hour.
    @Test func c22AMessageIsSentAgainOnceAnHour() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        try circle.settle()
        let group = try circle.groupID("alice")
        var question = GroupBody(group)
        question.messageRequest = try circle["alice"].history("team").compactMap {
            $0["id"]?.string
        }
        try circle.tell("bob", "alice", question)
        try circle.settle()
        #expect(try circle.group("alice", "sync").records.count == 1)
        try circle.tell("bob", "alice", question)
        try circle.settle()
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
    }

    /// C22: a member gets a change again once an hour.
    @Test func c22AChangeIsSentAgainOnceAnHour() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try circle.groupID("alice")
        var question = GroupBody(group)
        question.request = [group]
        try circle.tell("bob", "alice", question)
        try circle.settle()
        #expect(try circle.group("alice", "sync").records.count == 1)
        try circle.tell("bob", "alice", question)
        try circle.settle()
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
    }

    /// C22: a member gets at most 200 messages again in a day.
    @Test func c22ADayHas200Answers() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let lines = (0..<230).map { #"{"body":{"type":"text","text":"\#($0)"}}"# + "\n" }
        try circle.deliver(
            circle.must("alice", "encrypt", ["--group", "team", "--jsonl"], lines.joined()))
        try circle.settle()
        let ids = try circle["alice"].run("history", ["team", "--limit", "300"]).records
            .compactMap { $0["id"]?.string }
        #expect(ids.count == 230)
        let group = try circle.groupID("alice")
        let bob = circle["bob"].identity.id
        let store = try circle["alice"].store()
        /// Asks for all messages. Returns the number of answers.
        func answers(_ time: Timestamp) throws -> Int {
            try store.transaction { transaction in
                var question = GroupBody(group)
                question.messageRequest = ids
                _ = try transaction.take(question, from: bob, at: time)
                let found = try #require(try transaction.group(group))
                let news = try transaction.news(of: found, at: time).filter { $0.to == bob }
                for (_, body) in news { try transaction.noteSealed(body, to: bob, at: time) }
                return news.map(\.body.history.count).reduce(0, +)
            }
        }
        let now = Timestamp.now()
        #expect(try answers(now) == 200)
        #expect(try answers(Timestamp(seconds: now.seconds + 3_700)) == 0)
        #expect(try answers(Timestamp(seconds: now.seconds + 86_500)) == 200)
    }

    /// C2: a removed member who did not hold the present chain does not get what was written in between.
    @Test func c2AnAbsentMemberGetsNothingFromBetween() throws {
        let circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob", "carol", "dave")
        try circle.say("alice", "one")
        try circle.settle()
        // Carol does not get the next chain, because she is blocked.
        try circle.must("alice", "contact", ["block", "carol"])
        try circle.must("alice", "group", ["remove", "team", "dave"])
        try circle.say("alice", "two")
        try circle.must("alice", "contact", ["unblock", "carol"])
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("alice", "without carol")
        try circle.settle()
        try circle.invite("carol", by: "alice")
        try circle.settle()
        try circle.say("alice", "with carol")
        try circle.settle()
        var question = GroupBody(try circle.groupID("alice"))
        question.messageRequest = try circle["alice"].history("team").compactMap {
            $0["id"]?.string
        }
        try circle.tell("carol", "alice", question)
        try circle.settle()
        let answer = try circle.must("alice", "group", ["sync"]).records
        let texts = answer.flatMap { $0.body["history"]?.array ?? [] }.map {
            $0.object?["body"]?.object?["text"]?.string
        }
        #expect(texts == ["with carol"])
    }

    /// C2: a person who was removed, entered again and was removed again still has the chain of the first time.
    @Test func c2APersonRemovedTwiceReadsNothingLater() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "one")
        try circle.settle()
        let first = try circle.place(ofLastBy: "alice")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.invite("carol", by: "alice")
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("alice", "two")
        let second = try circle.place(ofLastBy: "alice")
        #expect(first?["signingKey"] != nil && first?["signingKey"] != second?["signingKey"])
        // No member entered or left since.
        try circle.say("alice", "three")
        #expect(try circle.place(ofLastBy: "alice")?["signingKey"] == second?["signingKey"])
        try circle.settle()
        #expect(try circle.history("bob") == ["one", "two", "three"])
    }

    /// C2: a record with keys and earlier messages that was printed before a removal, and is encrypted after it.
    @Test func c2AnEarlierRecordHasNoKeysAfterARemoval() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "policy", "team", "visibility=granted")
        try circle.settle()
        try circle.group("alice", "remove", "team", "bob")
        try circle.settle()
        try circle.invite("bob", by: "alice")
        try circle.settle()
        try circle.group("alice", "grant", "team", "carol")
        try circle.say("alice", "secret")
        let grant = try circle.must("alice", "group", ["grant", "team", "bob"])
        #expect(grant.text.contains("secret"))
        try circle.group("alice", "remove", "team", "bob")
        let late = try circle["alice"].run(
            "encrypt", ["--jsonl", "--elsewhere"], stdin: grant.stdout)
        #expect(late.status == 0 && late.stderr.contains("left out"), "\(late.stderr)")
        try circle.deliver(late)
        try circle.settle()
        #expect(try !circle.history("bob").contains("secret"))
        try circle.say("alice", "later")
        try circle.settle()
        #expect(try circle.history("bob").isEmpty)
        #expect(try circle.history("carol") == ["secret", "later"])
        // The same record in time.
        try circle.invite("bob", by: "alice")
        try circle.settle()
        try circle.group("alice", "grant", "team", "bob")
        try circle.settle()
        #expect(try circle.history("bob").contains("secret"))
    }

    // MARK: Chains

    /// C18: a chain is known by its group, device and id; another wrap secret makes no second one.
    @Test func c18AChainWithAnotherWrapIsIgnored() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try circle.groupID("alice")
        let chain = GroupChain(group: group, device: circle["bob"].identity.id)
        var body = GroupBody(group)
        body.chain = chain.distribution.object()
        try circle.tell("bob", "alice", body)
        body.chain?["wrap"] = .base64(randomBytes(32))
        try circle.tell("bob", "alice", body)
        try circle.settle()
        #expect(try chains(circle["alice"]).count == 1)
        // The first one counts.
        var own = chain
        try circle.read("alice", [message("first", in: &own, circle, "bob", "alice")])
        #expect(try circle.history("alice") == ["first"])
    }

    /// C15: a person who sends many invitations leaves space for those of others.
    @Test func c15AFloodOfInvitationsIsDropped() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.must("alice", "contact", ["add", circle["carol"].card])
        for number in 1...20 { try circle.group("bob", "create", "g\(number)", "alice") }
        try circle.settle()
        try circle.group("bob", "create", "g21", "alice")
        let lines = circle.take("alice")
        try circle["alice"].receive(lines)
        let run = try circle.read("alice", lines)
        #expect(run.status == 12 && run.stderr.contains("20 invitations"), "\(run)")
        #expect(try circle["alice"].unread().isEmpty)
        func names() throws -> [String] {
            try circle.must("alice", "group", ["list", "--json"]).records.compactMap {
                $0["name"]?.string
            }
        }
        #expect(try names().count == 20)
        try circle.group("carol", "create", "hut", "alice")
        try circle.settle()
        #expect(try names().contains("hut"))
        // An answered invitation makes space, and a deleted group is gone.
        try circle.must("alice", "group", ["decline", "g1"])
        try circle.must("alice", "group", ["forget", "g1"])
        #expect(try !names().contains("g1"))
        try circle.group("bob", "create", "g22", "alice")
        try circle.settle()
        #expect(try names().contains("g22"))
        try circle.group("alice", "accept", "hut")
        try circle.settle()
        #expect(try circle["alice"].run("group", ["forget", "hut"]).status == 64)
        // The history stays, and a later invitation begins the group anew.
        try circle.say("carol", "hello", to: "hut")
        try circle.settle()
        try circle.group("alice", "leave", "hut")
        try circle.settle()
        try circle.must("alice", "group", ["forget", "hut"])
        try circle.group("carol", "invite", "hut", "alice")
        try circle.settle()
        try circle.group("alice", "accept", "hut")
        try circle.settle()
        try circle.say("carol", "again", to: "hut")
        try circle.settle()
        #expect(try circle.history("alice", "hut") == ["hello", "again"])
    }

    /// C15: groups that do not invite the owner displace each other, and no invitation.
    @Test func c15AFloodOfEmptyGroupsLeavesSpace() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.must("alice", "contact", ["add", circle["carol"].card])
        try circle.group("bob", "create", "real", "alice")
        try circle.settle()
        for _ in 0..<25 {
            let create = try GroupChange(
                .create(nonce: randomBytes(32), GroupPolicy(), continues: nil), in: nil,
                by: circle["bob"].identity.signingKey, seq: 1, parents: [])
            var body = GroupBody(create.id)
            body.changes = [try JSON.object(parsing: create.bytes)]
            try circle.tell("bob", "alice", body)
        }
        try circle.settle()
        #expect(try circle.must("alice", "group", ["list", "--json"]).records.count == 21)
        try circle.group("carol", "create", "hut", "alice")
        try circle.settle()
        for name in ["real", "hut"] {
            #expect(try circle["alice"].run("group", ["accept", name]).status == 0)
        }
    }

    /// C15: a member who begins many chains, each with many skipped messages, fills a limited space.
    @Test func c15AFloodOfChainsIsLimited() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        let group = try circle.groupID("alice")
        func flood(_ who: String, _ count: Int) throws {
            var last: GroupChain?
            for _ in 0..<count {
                let chain = GroupChain(group: group, device: circle[who].identity.id)
                var distribution = chain.distribution
                distribution.previous = last.map { [.init(chain: $0.id, count: 1_000)] } ?? []
                var body = GroupBody(group)
                body.chain = distribution.object()
                try circle.tell(who, "alice", body)
                last = chain
            }
        }
        try flood("carol", 3)
        try flood("bob", 24)
        try circle.settle()
        let lengths = try chains(circle["alice"])
        #expect(lengths.count == 27)
        let skipped = lengths.map { ($0 - lengths.min()!) / 34 }.reduce(0, +)
        #expect(skipped == 20_000)
        // The keys of Carol, who has fewer, stay.
        let shown = try circle.must("alice", "group", ["show", "team"]).records[0]
        let missing = try #require(shown["missing"]?.array)
        #expect(missing.allSatisfy { $0.object?["messages"]?.integer ?? 0 <= 256 }, "\(missing)")
        let carol = circle["carol"].identity.id.description
        #expect(missing.contains { $0.object?["from"]?.string == carol })
        try flood("bob", 70)
        try circle.settle()
        #expect(try chains(circle["alice"]).count == 67)
    }

    /// The lengths of the received chains.
    private func chains(_ party: Party) throws -> [Int64] {
        try party.state { connection throws(StateError) in
            try connection.rows("SELECT length(sealed) FROM group_chain") { $0.integer(0) }
        }
    }

    // MARK: Reports

    /// Returns the envelope of a message that a member wrote with their own program.
    private func message(
        _ text: String, in chain: inout GroupChain, _ circle: Circle, _ from: String, _ to: String,
        state: [UInt8]? = nil
    ) throws -> String {
        let group = try circle.groupID(from)
        let log = try circle.must(from, "group", ["log", group.description]).records
        let changes = try log.map { try GroupChange($0) }
        let parents = Set(changes.flatMap(\.parents))
        let shown = try circle.state(from, group.description)
        let time = Timestamp.now()
        let content = GroupContent(
            group: group, time: time, heads: changes.map(\.id).filter { !parents.contains($0) },
            state: try state ?? #require(bytes(hex: shown)),
            body: ["type": .string("text"), "text": .string(text)])
        let address = GroupCopy.Address(
            id: Envelope.newID(), to: circle[to].identity.id, time: time)
        let copy = chain.copy(try chain.seal(content.bytes), for: address)
        let envelope = Envelope(
            id: address.id, suite: .group, to: address.to, time: time, payload: copy.payload)
        return String(decoding: envelope.record.serialized(), as: UTF8.self)
    }

    /// C6: two changes of a member with one number are reported once, with status 12.
    @Test func c6AForkIsReportedOnce() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try circle.groupID("bob")
        let log = try circle.must("bob", "group", ["log", "team"]).records
        let last = try GroupChange(#require(log.last))
        let bob = circle["bob"].identity
        let seq = try log.map { try GroupChange($0) }.filter { $0.by == bob.id }.count + 1
        func tell(_ name: String) throws -> Run {
            let change = try GroupChange(
                .set(.nickname(name)), in: group, by: bob.signingKey, seq: Int64(seq),
                parents: [last.id])
            var body = GroupBody(group)
            body.changes = [try JSON.object(parsing: change.bytes)]
            try circle.tell("bob", "alice", body)
            return try circle.read("alice")
        }
        #expect(try tell("one").status == 0)
        let run = try tell("two")
        #expect(run.status == 12, "\(run)")
        #expect(run.stderr.contains("two different changes"), "\(run.stderr)")
        let events = try run.records.flatMap { $0.body["events"]?.array ?? [] }
        let fork = try #require(events.first { $0.object?["event"] == .string("fork") }?.object)
        #expect(fork["who"] == .string(bob.id.description))
        #expect(try tell("two").status == 0)
        // One pair proves it.
        #expect(try tell("three").status == 0)
        let shown = try circle.must("alice", "group", ["show", "team"]).records[0]
        #expect(shown["forks"]?.array?.count == 1)
    }

    /// C6: a member with the same changes and another state is reported with status 12, and the message is shown.
    @Test func c6AnotherStateIsReported() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try circle.groupID("bob")
        var chain = GroupChain(group: group, device: circle["bob"].identity.id)
        var body = GroupBody(group)
        body.chain = chain.distribution.object()
        try circle.tell("bob", "alice", body)
        try circle.settle()
        let lines = try (0..<2).map { number in
            try message(
                "text \(number)", in: &chain, circle, "bob", "alice",
                state: number == 0 ? randomBytes(16) : nil)
        }
        let run = try circle.read("alice", [lines[0]])
        #expect(run.status == 12, "\(run)")
        #expect(run.stderr.contains("another state"), "\(run.stderr)")
        #expect(try run.records[0].body["text"] == .string("text 0"))
        let right = try circle.read("alice", [lines[1]])
        #expect(right.status == 0, "\(right.stderr)")
        // A repeated message is not reported again.
        #expect(try circle.read("alice", [lines[0]]).status == 0)
        #expect(try circle.history("alice") == ["text 0", "text 1"])
    }

    /// C6: with 16 heads the author's log can have more, so that another state proves nothing.
    @Test func c6AMessageWithTheMostHeadsIsNotCompared() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try circle.groupID("bob")
        let log = try circle.must("bob", "group", ["log", "team"]).records
        let changes = try log.map { try GroupChange($0) }
        let last = try #require(changes.last)
        let bob = circle["bob"].identity
        var chain = GroupChain(group: group, device: bob.id)
        var body = GroupBody(group)
        body.chain = chain.distribution.object()
        let seq = Int64(changes.count { $0.by == bob.id } + 1)
        body.changes = try (0..<GroupContent.mostHeads).map { number in
            let change = try GroupChange(
                .set(.nickname("bob \(number)")), in: group, by: bob.signingKey, seq: seq,
                parents: [last.id])
            return try JSON.object(parsing: change.bytes)
        }
        try circle.tell("bob", "alice", body)
        // The forks are reported.
        #expect(try circle.read("alice").status == 12)
        let line = try message(
            "hello", in: &chain, circle, "alice", "alice", state: randomBytes(16))
        let run = try circle.read("alice", [line])
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try circle.history("alice") == ["hello"])
    }

    /// C6: a message that the rules refuse is judged once. Its author is not asked for it again.
    @Test func c6ARefusedMessageIsFinal() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.group("alice", "role", "team", "bob", "reader")
        // Bob does not read his mail, and goes on.
        try circle.say("bob", "two")
        let lines = circle.take("alice")
        try circle["alice"].receive(lines)
        #expect(try circle["alice"].unread().count == 1)
        #expect(try circle.read("alice", lines).status == 12)
        #expect(try circle["alice"].unread().isEmpty)
        // Later Bob writes again.
        try circle.group("alice", "role", "team", "bob", "member")
        try circle.settle()
        try circle.say("bob", "three")
        try circle.settle()
        #expect(try circle.history("alice") == ["one", "three"])
        let shown = try circle.must("alice", "group", ["show", "team"]).records[0]
        #expect(shown["missing"] == nil, "\(shown)")
    }

    // MARK: Quotations

    /// In a group with the visibility `granted` a reply has no quoted text, even if the record has one.
    @Test func aReplyInAGroupWithGrantsQuotesNothing() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.group("alice", "grant", "team", "bob")
        try circle.settle()
        try circle.say("alice", "a secret of alice")
        try circle.settle()
        try circle.invite("carol", by: "alice")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.group("bob", "grant", "team", circle["carol"].identity.id.description)
        let reply = try circle.must(
            "bob", "compose", ["reply", "-1", "--with", "team"], "I agree")
        #expect(!reply.text.contains("a secret of alice"), "\(reply.text)")
        // A record of another program is not different, and an edit neither.
        var record = try reply.records[0]
        var body = record.body
        var quoted = try #require(body["reply"]?.object)
        quoted["text"] = .string("a secret of alice")
        body["reply"] = .object(quoted)
        record["body"] = .object(body)
        try circle.post("bob", record.serialized() + [10])
        try circle.settle()
        let got = try #require(
            try circle["carol"].history("team").first { $0.body["text"] == .string("I agree") })
        #expect(got.body["reply"]?.object?["id"] != nil)
        #expect(got.body["reply"]?.object?["text"] == nil, "\(got)")
        // Alice, who has the message, sees the quotation.
        let whole = try circle["alice"].run("history", ["team", "--text"]).text
        #expect(whole.contains("I agree"))
    }

    /// In other groups a reply quotes.
    @Test func aReplyInAGroupQuotes() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "the question")
        try circle.settle()
        try circle.compose("bob", ["reply", "-1", "--with", "team"], "the answer")
        try circle.settle()
        let got = try #require(
            try circle["alice"].history("team").first { $0.body["text"] == .string("the answer") })
        #expect(got.body["reply"]?.object?["text"] == .string("the question"))
    }

    // MARK: Damage

    /// A group whose log is damaged is shown as such, and the other groups and the mail go on.
    @Test func aDamagedGroupDoesNotStopTheOthers() throws {
        let circle = try Circle("alice", "bob")
        for name in ["first", "second"] {
            try circle.group("alice", "create", name, "bob")
            try circle.texts("bob")
            try circle.group("bob", "accept", name)
            try circle.settle()
            try circle.say("alice", "begin", to: name)
            try circle.settle()
        }
        try circle["bob"].state { connection throws(StateError) in
            try connection.run(
                """
                UPDATE group_change SET sealed = zeroblob(80) WHERE number = (
                    SELECT max(number) FROM group_change WHERE group_id = 1)
                """)
        }
        let list = try circle.must("bob", "group", ["list", "--text"])
        #expect(list.text.contains("first") && list.text.contains("cannot be read"), "\(list)")
        #expect(list.text.contains("second"))
        let records = try circle.must("bob", "group", ["list", "--json"]).records
        #expect(records.count == 2)
        #expect(records.contains { $0["standing"] == .string("unreadable") })
        let sync = try circle["bob"].run("group", ["sync"])
        #expect(sync.status == 74 && sync.stderr.contains("first"), "\(sync)")
        #expect(try circle["bob"].run("group", ["show", "first"]).status == 74)
        let conversations = try circle.must("bob", "history", ["list"]).records
        #expect(conversations.count { $0["group"] != nil } == 2, "\(conversations)")
        // A record about the damaged group fails alone.
        let damaged = try #require(
            records.first { $0["standing"] == .string("unreadable") }?["id"]?.string.flatMap {
                GroupID($0)
            })
        let written = [GroupBody(damaged).record, Message.textBody("beside")].flatMap { body in
            let line: JSONObject = [
                "v": .integer(1), "type": .string("message"),
                "to": .string(circle["alice"].identity.id.description), "body": .object(body),
            ]
            return line.serialized() + [10]
        }
        let sealed = try circle["bob"].run("encrypt", ["--jsonl"], stdin: written)
        #expect(sealed.status == 15 && sealed.lines.count == 2, "\(sealed)")
        // Mail of the damaged group waits, and other mail is opened.
        try circle.group("alice", "rename", "first", "third")
        try circle.say("alice", "one", to: "third")
        try circle.say("alice", "two", to: "second")
        let lines = circle.take("bob")
        try circle["bob"].receive(lines)
        let run = try circle.read("bob", lines)
        #expect(run.status == 15, "\(run)")
        #expect(try run.records.contains { $0.body["text"] == .string("two") })
        #expect(try circle["bob"].unread().count == 2)
        try circle.say("bob", "hello", to: "second")
        // A name that cannot be read does not stop the others either.
        try circle["bob"].state { connection throws(StateError) in
            try connection.run("UPDATE group_log SET sealed = zeroblob(80) WHERE number = 1")
        }
        #expect(
            try circle.must("bob", "group", ["list", "--text"]).text.contains("cannot be read"))
        #expect(try circle.must("bob", "group", ["show", "second"]).status == 0)
        try circle.say("bob", "again", to: "second")
    }

    // MARK: Removals

    /// A removal with many limits becomes several changes, none of which drops a limit.
    @Test func aRemovalWithManyLimitsIsSplit() throws {
        let names = (1...4).map { "p\($0)" }
        let circle = try Circle(["alice"] + names)
        try circle.team(["alice"] + names)
        let group = try circle.groupID("alice")
        for name in names {
            for _ in 0..<64 {
                var chain = GroupChain(group: group, device: circle[name].identity.id)
                _ = try chain.seal([1])
                var body = GroupBody(group)
                body.chain = chain.distribution.object()
                try circle.tell(name, "alice", body)
            }
        }
        try circle.settle()
        try circle.group("alice", "remove", "team", "p1", "p2", "p3", "p4")
        let log = try circle.must("alice", "group", ["log", "team"]).records
        let removals = try log.map { try GroupChange($0) }.compactMap { change in
            if case .remove(let who, let limits) = change.act { (who, limits) } else { nil }
        }
        #expect(removals.count > 1)
        #expect(Set(removals.flatMap(\.0)).count == 4)
        #expect(removals.map(\.1.count).reduce(0, +) == 4 * 64)
        try circle.settle()
        for name in names {
            #expect(
                try circle.must(name, "group", ["list", "--text"]).text.contains("left"), "\(name)")
        }
        #expect(
            try circle.must("alice", "group", ["participants", "--json", "team"]).records.count
                == 1)
    }

    /// A leaver's messages of earlier chains count also if they arrive after the departure.
    @Test func aLeaverNamesEarlierChains() throws {
        let circle = try Circle("alice", "bob", "carol", "dave", "erin")
        try circle.team("alice", "bob", "carol", "dave", "erin")
        try circle.say("bob", "one")
        var late = circle.take("carol")
        try circle.settle()
        for (name, text) in [("dave", "two"), ("erin", "three")] {
            try circle.group("alice", "remove", "team", name)
            let news = circle.take("carol")
            try circle.read("carol", news)
            try circle.settle()
            try circle.say("bob", text)
            late += circle.take("carol")
            try circle.settle()
        }
        try circle.group("bob", "leave", "team")
        try circle.settle()
        let run = try circle.read("carol", late)
        #expect(run.status == 0, "\(run)")
        #expect(try circle.history("carol").sorted() == ["one", "three", "two"])
    }
}

extension Circle {
    /// The id of the only group of a person.
    func groupID(_ who: String) throws -> GroupID {
        try #require(GroupID(onlyGroup(who)))
    }

    /// Sends a body about a group, as another program could.
    func tell(_ who: String, _ other: String, _ body: GroupBody) throws {
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(self[other].identity.id.description), "body": .object(body.record),
        ]
        try post(who, line.serialized() + [10])
    }
}

extension Party {
    /// Opens the state in this process.
    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files(stateDirectory)), identity: identity,
            lockTimeout: 20)
    }
}
