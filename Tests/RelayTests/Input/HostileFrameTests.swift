import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// The scan of a line before it is parsed.
@Suite struct FrameOutlineTests {
    func outline(_ text: String, limit: Int = 512) -> FrameOutline {
        FrameOutline(of: Array(text.utf8), limit: limit)
    }

    @Test func theTypeAndTheIDAreFoundAnywhere() {
        let texts = [
            #"{"type":"prekeys","request_id":"r1","payload":{}}"#,
            #" { "payload" : {"type":"ping","request_id":"no"}, "request_id" :"r1" , "type": "prekeys" } "#,
            #"{"a":[{"type":"x"}],"b":"\"type\":\"y\"","request_id":"r1","type":"prekeys"}"#,
            #"{"note":"type","type":"prekeys","request_id":"r1"}"#,
        ]
        for text in texts {
            let found = outline(text)
            #expect(found.type == "prekeys" && found.requestID == "r1", "\(text)")
            #expect(found.isOneObject, "\(text)")
        }
        for text in [
            #"{"typ\u0065":"ping"}"#, #"["type","ping"]"#, #"{"type":7}"#,
            #"{"type":{"type":"a"}}"#,
            "", "type", #"{"type"#,
        ] {
            #expect(outline(text).type == nil, "\(text)")
        }
        #expect(outline(#"{"request_id":"a b"}"#).requestID == nil)
    }

    @Test func oneObjectIsRecognized() {
        for text in ["{}", " {\"a\":[{}]}\n", #"{"a":"}{"}"#, #"{"a":"\"}"}"#] {
            #expect(outline(text).isOneObject, "\(text)")
        }
        for text in [
            "", "[]", "{", "{}}", "{}{}", "{},", #"{}"a""#, "1", "{} x", "[{}]", #"{"a":"}"#, "}{",
            #"{}},"type":"ping","payload":{"envelope":{}"#,
        ] {
            #expect(!outline(text).isOneObject, "\(text)")
        }
    }

    @Test func valuesAndEscapesAreCountedUpToTheLimit() {
        #expect(outline("{}").values == 0)
        #expect(outline(#"{"a":1}"#).values == 1)
        #expect(outline(#"{"a":[1,2,3],"b":",:"}"#).values == 5)
        #expect(outline(#"{"a":"\u0041\\u\"\/\u0042"}"#).values == 3)
        let long = "[" + String(repeating: "0,", count: 50_000) + "0]"
        #expect(outline(long, limit: 9).isOverLimit && outline(long, limit: 9).values == 10)
        let escapes = #"{"a":""# + String(repeating: #"\u0041"#, count: 10_000) + "\"}"
        #expect(outline(escapes, limit: 9).isOverLimit)
        #expect(!outline(escapes, limit: 20_000).isOverLimit)
        // Each byte is scanned a few times at most.
        let slashes = #"{"a":""# + String(repeating: #"\\"#, count: 40_000) + "\"}"
        #expect(outline(slashes).isOneObject && outline(slashes).values == 1)
    }

    /// The largest frames of Sotto's own clients are within the limits.
    @Test func honestFramesAreParsed() throws {
        let owner = Sample.identity()
        let publication = Sample.preKeys(of: owner, oneTime: 1..<101, isPostQuantum: true)
        let requests: [(Request, hasMailbox: Bool)] = [
            (.publish(PublishedPreKeys(publication)), false),
            (.ack(ids: (0..<WireLimits.ackCount).map { _ in Envelope.newID() }, .failed), true),
            (
                .send(Sample.envelope(to: owner.id, text: String(repeating: "A", count: 65_000))),
                false
            ),
            (
                .login(
                    Login(
                        key: owner.signingKey, nonce: randomBytes(32),
                        relay: String(repeating: "r", count: 255), invitation: InvitationCode())),
                false
            ), (.fetch(max: 100, after: 7, dead: true, of: owner.id), true),
            (.claim(owner: owner.id, id: Envelope.newID()), false), (.ping, false),
            (
                .claims(
                    (0..<WireLimits.claimCount).map { _ in
                        .init(owner: Sample.identity().id, id: Envelope.newID())
                    }), false
            ),
            (.solution(nonce: randomBytes(32), counter: 9), false), (.challenge, false),
        ]
        for (request, hasMailbox) in requests {
            let frame = IncomingFrame(Array(request.line(requestID: "r").dropLast()))
            #expect(frame.refusal(hasMailbox: hasMailbox) == nil, "\(request)")
            guard case .frame("r", .success(let asked)) = frame.content() else {
                Issue.record("\(request)")
                continue
            }
            #expect(asked.request == request)
        }
    }

    @Test func signaturesAndBytesCostMore() {
        func cost(_ request: Request, rate: Double = 10_000) -> Double {
            IncomingFrame(Array(request.line(requestID: "r").dropLast())).cost(rate: rate)
        }
        let owner = Sample.identity()
        #expect(cost(.ping) == 1)
        #expect(cost(.send(Sample.envelope(to: owner.id))) == 1)
        let long = Sample.envelope(to: owner.id, text: String(repeating: "A", count: 60_000))
        #expect(cost(.send(long)) > 3)
        let publication = PublishedPreKeys(Sample.preKeys(of: owner, oneTime: 1..<101))
        #expect(cost(.publish(publication)) > 20)
        // A slow connection still gets its one request.
        #expect(cost(.publish(publication), rate: 2) == 1)
    }

    @Test func aCostlyRequestDelaysTheNext() {
        var bucket = TokenBucket(rate: 10, capacity: 10, at: 0)
        let taken = [bucket.take(30, at: 0), bucket.take(at: 1), bucket.take(at: 2.2)]
        #expect(taken == [true, false, true])
    }
}

/// Frames that would cost a relay much time.
@Suite(.timeLimit(.minutes(60))) struct HostileFrameTests {
    static func members(_ count: Int) -> String {
        (0..<count).map { "\"m\($0)\":1" }.joined(separator: ",")
    }

    @Test(arguments: RelayURL.Scheme.allCases)
    func tooManyMembersAreRefusedAndTheTenthInARowCloses(_ scheme: RelayURL.Scheme) throws {
        // Without a rate limit, refusals delay nothing.
        let running = try BadFrameTests.relay { $0.connectionRate = 0 }
        let client = TransportClient(scheme, running.relay.address)
        let frame =
            #"{"type":"prekeys","request_id":"h","payload":{"publication":{"#
            + Self.members(5_500) + "}}}"
        let line = Response.rejected(Refusal(.tooLarge)).line(requestID: "h").dropLast()
        let refused = TransportClient.Received.frame(
            String(decoding: line, as: UTF8.self), status: client.isHTTP ? 413 : nil)
        #expect(client.ask(frame) == refused)
        // A valid frame resets the count.
        #expect(client.ask(#"{"type":"ping"}"#) == BadFrameTests.pong(scheme))
        for _ in 0..<10 { #expect(client.ask(frame) == refused) }
        #expect(client.endsSilently())
    }

    @Test func eachTypeHasItsLimit() throws {
        let running = try RunningRelay()
        let client = running.client()
        func ask(_ type: String, _ count: Int) -> String? {
            client.send(
                #"{"type":"\#(type)","request_id":"h","payload":{\#(Self.members(count))}}"#)
            let frame = client.frame()
            #expect(frame?.requestID == "h")
            return frame?.payload["reason"]?.string ?? frame?.type
        }
        #expect(ask("ping", 20) == "pong")
        #expect(ask("ping", 40) == "too_large")
        #expect(ask("send", 200) == "bad_fields")
        #expect(ask("send", 300) == "too_large")
        #expect(ask("later", 100) == "unknown_type")
        #expect(ask("later", 200) == "too_large")
        // Without a mailbox a list of ids is not parsed.
        let ids = (0..<200).map { _ in Envelope.newID() }
        #expect(client.ask(.ack(ids: ids, .delivered)) == .error(Refusal(.loginRequired)))
        #expect(client.login(Sample.identity())?.isSession == true)
        #expect(client.ask(.ack(ids: ids, .delivered)) == .acked)
    }

    /// A body is copied into a frame, and can only be the envelope there.
    @Test func aBodyCannotLeaveItsFrame() throws {
        let running = try RunningRelay()
        let client = TransportClient(.http, running.relay.address)
        func post(_ body: String) -> TransportClient.Received {
            client.send(TransportClient.post("/api/messages", body.utf8.count) + body)
            return client.receive()
        }
        let badJSON = BadFrameTests.refusal(.badJSON, by: .http)
        #expect(post(#"{}},"type":"ping","more":{"envelope":{}"#) == badJSON)
        #expect(post("{\n}") == BadFrameTests.refusal(.badFields, by: .http, id: "http"))
        let envelope = Sample.envelope(to: Sample.identity().id)
        let stored = Response.stored.line(requestID: "http").dropLast()
        #expect(
            post(String(decoding: envelope.bytes, as: UTF8.self))
                == .frame(String(decoding: stored, as: UTF8.self), status: 200))
        let many = "{\(Self.members(600))}"
        #expect(post(many) == BadFrameTests.refusal(.tooLarge, by: .http))
    }

    /// Pings count as requests do: after 200 of them a connection waits longer than after 40 requests.
    @Test func pingsCountAgainstTheRate() throws {
        let running = try RunningRelay { $0.connectionRate = 20 }
        let pinging = TransportClient(.ws, running.relay.address)
        let ping = WebSocketBytes.frame(.ping, [])
        pinging.send(
            Array(repeatElement(ping, count: 200).joined())
                + WebSocketBytes.frame(.text, Array(#"{"type":"ping"}"#.utf8)))
        let asking = running.client()
        asking.send((0..<40).flatMap { Request.ping.line(requestID: "\($0)") })
        for _ in 0..<40 { #expect(asking.response() == .pong) }
        let text = String(decoding: pinging.receivedSoFar(), as: UTF8.self)
        #expect(!text.contains("pong"))
    }

    /// A flood of pings is decoded a slice at a time: after the first slice the connection waits.
    @Test func aFloodOfPingsWaitsBeforeItIsDecoded() throws {
        let running = try RunningRelay { $0.connectionRate = 10 }
        let client = TransportClient(.ws, running.relay.address)
        client.send(
            (0..<20_000).flatMap { number in
                WebSocketBytes.frame(.ping, [UInt8(number >> 8), UInt8(number & 0xFF)])
            })
        guard case .pong(let data) = client.receive(), data.count == 2 else {
            Issue.record("no pong")
            return
        }
        // One pong answers all pings of a slice, 8 bytes each, and has the data of the last one.
        #expect(Int(data[0]) << 8 + Int(data[1]) < 1536 / 8)
        #expect(running.client().ask(.ping) == .pong)
        #expect(client.receivedSoFar().isEmpty)
    }

    /// A message of many fragments is charged for each of them.
    @Test func fragmentsCountAgainstTheRate() throws {
        let running = try RunningRelay { $0.connectionRate = 20 }
        let client = TransportClient(.ws, running.relay.address)
        let text = Array(#"{"type":"ping"}"#.utf8)
        let fragments =
            WebSocketBytes.frame(.text, [], isFinal: false)
            + repeatElement(WebSocketBytes.frame(.continuation, [], isFinal: false), count: 200)
            .joined() + WebSocketBytes.frame(.continuation, text)
        client.send(fragments + WebSocketBytes.frame(.text, text))
        let asking = running.client()
        asking.send((0..<40).flatMap { Request.ping.line(requestID: "\($0)") })
        for _ in 0..<40 { #expect(asking.response() == .pong) }
        #expect(!String(decoding: client.receivedSoFar(), as: UTF8.self).contains("pong"))
    }

    /// Requests behind one that is verified on another thread wait for it.
    @Test func orderIsKept() throws {
        let running = try RunningRelay()
        let client = running.client()
        let owner = Sample.identity()
        let publication = PublishedPreKeys(Sample.preKeys(of: owner, oneTime: 1..<50))
        var lines: [UInt8] = []
        for number in 0..<60 {
            let request: Request =
                number % 3 == 0
                ? .publish(publication)
                : number % 3 == 1 ? .ping : .send(Sample.envelope(to: owner.id))
            lines += request.line(requestID: "\(number)")
        }
        client.send(lines)
        // A pong overtakes requests that wait for the disk; nothing else changes order.
        var answered: [Int] = []
        for _ in 0..<60 { answered += [client.frame()?.requestID.flatMap { Int($0) } ?? -1] }
        for kind in 0..<3 {
            let own = answered.filter { $0 % 3 == kind }
            #expect(own == own.sorted() && own.count == 20)
        }
    }
}
