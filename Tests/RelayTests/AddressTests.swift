import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

/// Send addresses, each known to one contact, through the built programs.
@Suite struct AddressTests {
    /// Bob has Alice as a contact, and Alice has a card with a send address for her.
    func introduced(_ world: Correspondence) throws {
        try world.expect("bob", "contact add --name alice alice.card")
        try world.expect("bob", "contact address alice > for-alice.card")
        try world.expect("alice", "contact add --name bob for-alice.card")
    }

    @Test(arguments: ["tcp", "ws", "http"])
    func mailToASendAddressIsReceived(_ scheme: String) throws {
        let world = try Correspondence()
        try introduced(world)
        let relay = "--relay \(scheme)://\(world.relay.address)"
        try world.expect("alice", "echo to the address | encrypt --to bob > e1")
        try world.expect("alice", "echo to the id | encrypt --to bob.card --stateless > e2")
        let outside = world.scratch.lines("e1") + world.scratch.lines("e2")
        let mailboxes = try outside.map {
            try JSON.object(parsing: Array($0.utf8))["to"]?.string
        }
        #expect(mailboxes[0] != world.bob.id.description)
        #expect(mailboxes[1] == world.bob.id.description)
        try world.expect("alice", "cat e1 e2 | send \(relay)")
        let got = try world.expect("bob", "recv \(relay) | decrypt")
        #expect(Set(Correspondence.texts(got)) == ["to the address", "to the id"])
        #expect(got.allSatisfy { $0.contains(world.alice.id.description) })
        // Both were deleted at the relay.
        #expect(world.shell("bob", "recv \(relay)").status == 1)
        world.stop()
    }

    @Test func theRelayDoesNotSeeTheSenderInASession() throws {
        let world = try Correspondence()
        try introduced(world)
        try world.expect("bob", "keygen prekeys | send")
        try world.expect("alice", "recv --bundle bob > /dev/null")
        try world.expect("alice", "echo one | encrypt --to bob --suite ratchet > e1")
        let envelope = try JSON.object(
            parsing: Array(try #require(world.scratch.lines("e1").first).utf8))
        #expect(envelope["suite"]?.string == "ratchet" && envelope["from"] == nil)
        try world.expect("alice", "send < e1")
        let got = try world.expect("bob", "recv | decrypt")
        #expect(Correspondence.texts(got) == ["one"])
        #expect(got[0].contains(world.alice.id.description))
        // The answer goes the other way in the same session.
        try world.expect("bob", "echo two | encrypt --to alice | send")
        #expect(Correspondence.texts(try world.expect("alice", "recv | decrypt")) == ["two"])
        // A repeated envelope is recognized.
        try world.expect("bob", "decrypt < /dev/null || true")
        let again = world.shell("bob", "decrypt < e1")
        #expect(again.status == 0 && again.lines.allSatisfy { $0.contains("\"seen\":true") })
        world.stop()
    }

    @Test func aRevokedAddressIsIgnoredWithoutAnError() throws {
        let world = try Correspondence()
        try introduced(world)
        for (end, undo) in [
            ("contact block alice", "contact unblock alice"),
            ("contact address --revoke alice", ""),
        ] {
            try world.expect("bob", end)
            #expect(
                try world.expect("alice", "echo lost | encrypt --to bob | send")
                    .allSatisfy { $0.contains("\"stored\"") })
            #expect(world.shell("bob", "recv").status == 1)
            guard !undo.isEmpty else { continue }
            try world.expect("bob", undo)
            #expect(Correspondence.texts(try world.expect("bob", "recv | decrypt")) == ["lost"])
        }
        #expect(world.shell("bob", "contact address --revoke alice").status == 1)
        // Mail that was fetched before is read; mail to an unknown address is not.
        try world.expect("bob", "contact address alice > again.card")
        try world.expect("alice", "contact add again.card")
        try world.expect("alice", "echo in time | encrypt --to bob | send")
        try world.expect("bob", "recv > fetched")
        try world.expect("bob", "contact address --new alice > third.card")
        #expect(
            Correspondence.texts(try world.expect("bob", "decrypt < fetched")) == ["in time"])
        try world.expect(
            "bob", "jq -c '.to = \"05\" + (\"ab\" * 32)' fetched > moved")
        #expect(world.shell("bob", "decrypt < moved").status == 10)
        world.stop()
    }

    @Test func aFollowingRecvOpensANewAddress() throws {
        let world = try Correspondence()
        let listener = world.command("bob", "recv", ["--follow"], output: "got")
        try introduced(world)
        try world.expect("alice", "echo hello | encrypt --to bob | send")
        let deadline = Monotonic.seconds() + 90
        while world.scratch.lines("got").isEmpty, Monotonic.seconds() < deadline { usleep(50_000) }
        #expect(world.scratch.lines("got").count == 1)
        listener.kill(SIGTERM)
        listener.wait()
        world.stop()
    }

    @Test func severalMailboxesOnOneConnection() throws {
        let relay = try #require(RelayProcess(TemporaryDirectory()))
        let client = RawClient(relay.address)
        let (one, two) = (Sample.identity(), Sample.identity())
        guard case .session = client.login(one), case .session = client.login(two) else {
            Issue.record("a login was refused")
            return
        }
        let stranger = Sample.identity().id
        for (mailbox, isOpen) in [(one.id, true), (two.id, true), (stranger, false)] {
            let answer = client.ask(.fetch(max: 1, after: 0, dead: false, of: mailbox))
            if isOpen {
                #expect(answer == .messages([], more: false))
            } else {
                #expect(answer == .error(Refusal(.loginRequired)))
            }
        }
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    /// A proxy may send the requests of several users on one connection.
    @Test func anHTTPRequestNeedsItsOwnToken() throws {
        let relay = try #require(RelayProcess(TemporaryDirectory()))
        let http = KeptHTTP(relay.address)
        let identity = Sample.identity()
        let nonce = try JSON.object(parsing: http.post(Request.challenge.line(requestID: "1")).body)
        let payload = try #require(nonce["payload"]?.object)
        let bytes = try #require(payload["nonce"]?.string.flatMap { Base64.standard.decode($0) })
        let login = Login(key: identity.signingKey, nonce: bytes, relay: relay.address)
        let session = try http.post(Request.login(login).line(requestID: "2"))
        #expect(session.status == 200)
        let token = try #require(
            try JSON.object(parsing: session.body)["payload"]?.object?["token"]?.string)
        let question = Request.fetch(max: 1, after: 0, dead: false)
        let fetch = question.line(requestID: "3")
        #expect(try http.post(fetch).status == 401)
        #expect(try http.post(fetch, token: token).status == 200)
        #expect(try http.post(fetch).status == 401)
        // The answer is that to the request, not that to the token.
        for request in [Request.ping, .challenge, .puzzle, question] {
            let answer = try http.post(request.line(requestID: "4"), token: token)
            let frame = try JSON.object(parsing: answer.body)
            #expect(frame["request_id"]?.string == "4")
        }
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }
}

/// An HTTP connection for several requests.
private final class KeptHTTP {
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

    init(_ address: String) {
        HTTP.setTimeout(descriptor)
        var name = HTTP.loopback(UInt16(address.split(separator: ":")[1])!)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
    }

    deinit { close(descriptor) }

    /// Posts a frame. Returns the status and body of the answer.
    func post(_ frame: [UInt8], token: String? = nil) throws -> (status: Int, body: [UInt8]) {
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let head =
            "POST /api/frames HTTP/1.1\r\nHost: x\r\n\(authorization)Content-Length: \(frame.count)\r\n\r\n"
        let request = Array(head.utf8) + frame
        _ = Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
        var answer: (Int, [UInt8])?
        _ = HTTP.read(descriptor) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n"),
                let length = text.lowercased().split(separator: "\r\n")
                    .first(where: { $0.hasPrefix("content-length: ") })
                    .flatMap({ Int($0.dropFirst(16)) }),
                text[end.upperBound...].utf8.count >= length
            else { return false }
            answer = (
                Int(text.split(separator: " ")[1]) ?? 0, Array(text[end.upperBound...].utf8)
            )
            return true
        }
        return try #require(answer)
    }
}
