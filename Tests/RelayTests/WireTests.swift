import Sotto
import SottoWire
import TestSupport
import Testing

@Suite struct WireTests {
    @Test func requestsAreTheseBytes() {
        func line(_ request: Request) -> String {
            String(decoding: request.line(requestID: "7"), as: UTF8.self)
        }
        #expect(line(.ping) == #"{"type":"ping","request_id":"7","payload":{}}"# + "\n")
        #expect(
            line(.fetch(max: 5, after: 2, dead: true))
                == #"{"type":"fetch","request_id":"7","payload":{"max":5,"after":2,"dead":true}}"#
                + "\n")
        let id = "11111111-1111-4111-8111-111111111111"
        #expect(
            line(.ack(ids: [id], .failed))
                == #"{"type":"ack","request_id":"7","payload":{"ids":["\#(id)"],"status":"failed"}}"#
                + "\n")
        let ids = [7, 8].map { KeyID(publicKey: [UInt8](repeating: $0, count: 32)) }
        let next = "22222222-2222-4222-8222-222222222222"
        #expect(
            line(.claims([.init(owner: ids[0], id: id), .init(owner: ids[1], id: next)]))
                == #"{"type":"claims","request_id":"7","payload":{"ids":["\#(ids[0])","\#(ids[1])"],"#
                + #""claims":["\#(id)","\#(next)"]}}"# + "\n")
    }

    @Test func repliesAreTheseBytes() {
        func line(_ response: Response, _ id: String? = "7") -> String {
            String(decoding: response.line(requestID: id), as: UTF8.self)
        }
        #expect(line(.stored) == #"{"type":"stored","request_id":"7","payload":{}}"# + "\n")
        #expect(
            line(.rejected(Refusal(.conflict)))
                == #"{"type":"rejected","request_id":"7","payload":{"code":409,"reason":"conflict"}}"#
                + "\n")
        #expect(
            line(.bundles([Array("{}".utf8), nil, Array("[]".utf8)]))
                == #"{"type":"bundles","request_id":"7","payload":{"bundles":[{},null,[]]}}"#
                + "\n")
        #expect(
            line(.newMessage(Delivered(sequence: 3, envelope: Array("{}".utf8))), nil)
                == #"{"type":"new_message","payload":{"seq":3,"envelope":{}}}"# + "\n")
    }

    @Test func framesRoundTrip() throws {
        let identity = Sample.identity()
        let envelope = Sample.envelope(to: identity.id)
        let login = Login(
            key: identity.signingKey, nonce: randomBytes(32), relay: "relay.example:7667")
        let requests: [Request] = [
            .ping, .challenge, .login(login), .send(envelope), .subscribe(),
            .fetch(max: 100, after: 0, dead: false), .ack(ids: [envelope.id], .delivered),
            .publish(PublishedPreKeys(Sample.preKeys(of: identity, oneTime: 1..<4))),
            .claim(owner: identity.id, id: envelope.id),
            .claims([
                .init(owner: identity.id, id: envelope.id),
                .init(owner: Sample.identity().id, id: Envelope.newID()),
            ]),
            .registerWake(
                try WakeRegistration(
                    url: "ntfy://push.example/x", kind: .voip, token: "a:b"), of: identity.id),
            .registerWake(
                try WakeRegistration(url: "https://a.example:1/", kind: .message, token: nil)),
            .unregisterWake(.message), .unregisterWake(nil, of: identity.id),
            .invite(tag: randomBytes(16), key: randomBytes(32), label: "Bob"),
            .invite(tag: randomBytes(16), key: randomBytes(32), label: ""), .announcements,
            .cards(account: "WSP-AAAA-BBBB-CCCC"),
            .cards(account: String(repeating: "x", count: 255)),
        ]
        for request in requests {
            let frame = try Frame(parsing: request.line(requestID: "x"))
            #expect(try Request(frame) == request)
        }
        let delivered = Delivered(sequence: 9, envelope: envelope.bytes)
        let responses: [Response] = [
            .pong, .challenge(nonce: randomBytes(32), names: ["a:1", "b:2"]), .session(nil),
            .stored,
            .session(PreKeyStatus(oneTime: 3, signedID: 2, oneTimeMark: 104)),
            .duplicate, .deferred(Refusal(.mailboxFull)), .rejected(Refusal(.tooLarge)),
            .messages([delivered, delivered], more: true), .subscribed, .acked,
            .error(Refusal(.badFields)), .newMessage(delivered), .empty, .replaced,
            .bundle(
                try Sample.preKeys(of: identity, oneTime: 1..<1).bundle(oneTime: nil).record
                    .serialized()),
            .bundles([Array("{\"v\":1}".utf8), nil]), .bundles([]),
            .announcements(uri: "sotto:room?relay=tcp%3A%2F%2Fa%3A1&phrase=p"), .cards([]),
            .cards([Array("{\"v\":1}".utf8), Array("{\"v\":2}".utf8)]),
        ]
        for response in responses {
            #expect(Response(try Frame(parsing: response.line(requestID: "x"))) == response)
        }
        #expect(login.isSigned)
    }

    @Test(arguments: [
        ("", Reason.badJSON), ("x", .badJSON), (#"{"type":"ping","type":"ping"}"#, .badJSON),
        ("\"a\"", .badFrame), ("{}", .badFrame), (#"{"type":1}"#, .badFrame),
        (#"{"type":"ping","request_id":7}"#, .badFrame),
        (#"{"type":"ping","request_id":"a b"}"#, .badFrame),
        (#"{"type":"ping","payload":[]}"#, .badFrame),
        (String(repeating: "[", count: 100), .badJSON),
    ])
    func notFrames(_ line: String, _ reason: Reason) {
        #expect(throws: reason) { try Frame(parsing: Array(line.utf8)) }
    }

    @Test func aFrameOfAHundredThousandLevelsIsRefused() {
        #expect(throws: Reason.badJSON) {
            try Frame(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 100_000))
        }
    }

    @Test(arguments: [
        (#"{"type":"nonsense"}"#, Reason.unknownType), (#"{"type":"send"}"#, .badFields),
        (#"{"type":"send","payload":{"envelope":{"v":1}}}"#, .badFields),
        (#"{"type":"fetch","payload":{"max":0}}"#, .badFields),
        (#"{"type":"fetch","payload":{"max":101}}"#, .badFields),
        (#"{"type":"ack","payload":{"ids":[],"status":"delivered"}}"#, .badFields),
        (#"{"type":"ack","payload":{"ids":["x"],"status":"delivered"}}"#, .badFields),
        (#"{"type":"cards","payload":{}}"#, .badFields),
        (#"{"type":"cards","payload":{"account":""}}"#, .badFields),
        (#"{"type":"cards","payload":{"account":7}}"#, .badFields),
        (
            #"{"type":"cards","payload":{"account":"\#(String(repeating: "x", count: 256))"}}"#,
            .badFields
        ),
        (#"{"type":"login","payload":{}}"#, .loginFailed),
        (#"{"type":"prekeys","payload":{}}"#, .badFields),
        (#"{"type":"prekeys","payload":{"publication":{"v":1,"type":"prekeys"}}}"#, .badFields),
        (#"{"type":"claim","payload":{"id":"05","claim":"x"}}"#, .badFields),
        (#"{"type":"claims","payload":{"ids":[],"claims":[]}}"#, .badFields),
        (#"{"type":"claims","payload":{"ids":["05"],"claims":["x"]}}"#, .badFields),
    ])
    func notRequests(_ line: String, _ reason: Reason) throws {
        let frame = try Frame(parsing: Array(line.utf8))
        #expect(throws: reason) { try Request(frame) }
    }

    @Test func aBatchHasDifferentOwnersAndALimit() throws {
        func parse(_ ids: [KeyID], claims: Int) throws(Reason) -> Request {
            let payload: JSONObject = [
                "ids": .array(ids.map { .string($0.description) }),
                "claims": .array((0..<claims).map { _ in .string(Envelope.newID()) }),
            ]
            return try Request(Frame(type: "claims", requestID: nil, payload: payload))
        }
        let ids = (0...WireLimits.claimCount).map { _ in Sample.identity().id }
        let most = WireLimits.claimCount
        #expect(throws: Never.self) { try parse(Array(ids.prefix(most)), claims: most) }
        #expect(throws: Reason.badFields) { try parse(ids, claims: ids.count) }
        #expect(throws: Reason.badFields) { try parse(Array(ids.prefix(2)), claims: 1) }
        #expect(throws: Reason.badFields) { try parse([ids[0], ids[1], ids[0]], claims: 3) }
    }

    /// A relay that sends more cards than a client asks for is not a relay.
    @Test func aSearchForAnAccountIsTheseBytesAndHasALimit() throws {
        let asked = Request.cards(account: "0571\u{E9}").line(requestID: "7")
        #expect(
            String(decoding: asked, as: UTF8.self)
                == "{\"type\":\"cards\",\"request_id\":\"7\",\"payload\":{\"account\":\"0571\u{E9}\"}}"
                + "\n")
        let card = Array("{\"v\":1}".utf8)
        for (count, isRead) in [(WireLimits.cardCount, true), (WireLimits.cardCount + 1, false)] {
            let cards = Response.cards([[UInt8]](repeating: card, count: count))
            let again = Response(try Frame(parsing: cards.line(requestID: "7")))
            #expect((again == cards) == isRead && (again != nil) == isRead)
        }
    }

    @Test func sessionsOfOlderRelaysAreRead() throws {
        for payload in ["{}", #"{"prekeys":{"oneTime":-1}}"#, #"{"prekeys":7,"other":[]}"#] {
            let line = Array(#"{"type":"session","request_id":"1","payload":\#(payload)}"#.utf8)
            #expect(Response(try Frame(parsing: line))?.isSession == true)
        }
    }

    @Test func aFullPublicationFitsIntoAFrame() throws {
        let last = UInt32.max
        let publication = Sample.preKeys(
            of: Sample.identity(), signed: last, oneTime: last - 100..<last, isPostQuantum: true)
        let published = PublishedPreKeys(publication)
        #expect(published.bytes.count < WireLimits.publicationBytes / 4)
        let line = Request.publish(published).line(requestID: String(repeating: "r", count: 64))
        #expect(line.count < WireLimits.requestBytes)
        #expect(try Request(Frame(parsing: line)) == .publish(published))
    }

    /// The first message of a hybrid session has the most members of all envelopes. A frame of more than 64 values is costly.
    @Test func theFirstMessageOfAHybridSessionIsACheapFrame() throws {
        let (alice, bob) = (Sample.identity(), Sample.identity())
        let publication = Sample.preKeys(of: bob, oneTime: 1..<2, isPostQuantum: true)
        var session = try PeerSession(
            by: alice, with: publication.bundle(oneTime: publication.oneTimePreKeys.first))
        let envelope = try session.seal(
            body: Message.textBody("x"), from: alice, time: .now(), ttl: 604_800)
        #expect(envelope.payload["preKey"] != nil && envelope.payload["kem"] != nil)
        let line = Request.sendLine(envelope.record.serialized(), requestID: "1")
        #expect(FrameOutline(of: line, limit: WireLimits.frameValues).values <= 64)
        #expect(try Request(Frame(parsing: line)) == .send(AddressedEnvelope(envelope.record)))
    }

    @Test func publicationsAreVerifiedAndHaveLimits() throws {
        let record = Sample.preKeys(of: Sample.identity(), oneTime: 1..<3).record
        var other = record
        other["more"] = .integer(1)
        #expect(throws: Reason.badSignature) { try PublishedPreKeys(other) }
        other["more"] = .string(String(repeating: "A", count: WireLimits.publicationBytes))
        #expect(throws: Reason.tooLarge) { try PublishedPreKeys(other) }
        var deep: JSON = .integer(1)
        for _ in 0..<WireLimits.envelopeDepth { deep = .array([deep]) }
        other["more"] = deep
        #expect(throws: Reason.badFields) { try PublishedPreKeys(other) }
        other = record
        other["oneTimePreKeys"] = .array([])
        #expect(throws: Reason.badSignature) { try PublishedPreKeys(other) }
        other["oneTimePreKeys"] = nil
        #expect(throws: Reason.self) { try PublishedPreKeys(other) }
        #expect(try PublishedPreKeys(record).bytes == record.serialized())
    }

    @Test func envelopesHaveLimits() {
        let to = Sample.identity().id
        var deep: JSON = .integer(1)
        for _ in 0..<WireLimits.envelopeDepth { deep = .array([deep]) }
        var record = Sample.record(to: to)
        record["payload"] = .object(["deep": deep])
        #expect(throws: Reason.badFields) { try AddressedEnvelope(record) }
        let long = Sample.record(to: to, text: String(repeating: "A", count: 65_536))
        #expect(throws: Reason.tooLarge) { try AddressedEnvelope(long) }
    }

    @Test func aLineOverTheLimitIsNotKept() {
        var splitter = LineSplitter(limit: 4)
        func add(_ text: String) { Array(text.utf8).withUnsafeBytes { splitter.append($0) } }
        add("ab\ncd")
        #expect(splitter.next() == .line(Array("ab".utf8)))
        #expect(splitter.next() == .incomplete)
        #expect(splitter.hasPartialLine)
        add("ef\n")
        #expect(splitter.next() == .line(Array("cdef".utf8)))
        add("12345")
        #expect(splitter.next() == .tooLong)
    }

    @Test(arguments: [
        ("tcp://127.0.0.1:7667", "127.0.0.1:7667"), ("tcp://Relay.Example:1/", "relay.example:1"),
        ("tcp://[::1]:7667", "[::1]:7667"), ("tls://h:1", "h:1"), ("ws://h", "h:80"),
        ("wss://h/p/q", "h:443"), ("http://[::1]/", "[::1]:80"), ("https://h:8443", "h:8443"),
        ("tls://h:1#sha256=" + String(repeating: "a", count: 64), "h:1"),
    ])
    func addresses(_ text: String, _ name: String) throws {
        #expect(try RelayURL(text).name == name)
    }

    /// Each spelling of an IP address is one name, and an IPv4 address that is mapped into IPv6 is itself.
    @Test(
        arguments: [
            ("[::1]", ["[0:0:0:0:0:0:0:1]", "[0::1]", "[::0001]", "[0:0::0:1]", "[::0.0.0.1]"]),
            ("[2001:db8::1]", ["[2001:DB8:0:0:0:0:0:1]", "[2001:0db8::0:1]"]),
            (
                "127.0.0.1",
                ["[::ffff:7f00:1]", "[::FFFF:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:0001]", "127.1"]
            ),
            ("10.0.0.255", ["[::ffff:a00:ff]", "[::ffff:10.0.0.255]", "10.255", "0x0a.0.0.0xff"]),
            ("relay.example", ["RELAY.example", " relay.example"]),
        ] as [(String, [String])])
    func spellings(_ host: String, _ others: [String]) throws {
        let wanted = try RelayURL("tcp://\(host):7667")
        #expect(wanted.name == "\(host):7667")
        for other in others {
            #expect(try RelayURL("tcp://\(other):7667") == wanted, "\(other)")
            #expect(try RelayURL(name: "\(other):7667").name == wanted.name, "\(other)")
        }
    }

    @Test func randomSpellingsOfAnIPv6AddressAreOneName() throws {
        try withGenerator { generator in
            for _ in 0..<2_000 {
                let groups = (0..<8).map { _ in
                    generator.int(0..<2) == 0 ? 0 : generator.int(0..<65_536)
                }
                func spelling() -> String {
                    var texts = groups.map { group in
                        let digits = String(group, radix: 16, uppercase: generator.int(0..<2) == 0)
                        let zeros = generator.int(0..<(5 - digits.count))
                        return String(repeating: "0", count: zeros) + digits
                    }
                    // Any run of zeros may be left out once.
                    if let start = groups.indices.filter({ groups[$0] == 0 }).randomElement(
                        using: &generator)
                    {
                        var end = start
                        while end < 8, groups[end] == 0 { end += 1 }
                        texts.replaceSubrange(start..<end, with: [""])
                        if start == 0 { texts.insert("", at: 0) }
                        if end == 8 { texts.append("") }
                    }
                    return texts.joined(separator: ":")
                }
                let names = try (0..<4).map { _ in try RelayURL("tcp://[\(spelling())]:1").name }
                #expect(Set(names).count == 1, "\(names)")
                #expect(try RelayURL(name: names[0]).name == names[0])
            }
        }
    }

    @Test(arguments: [
        ("tcp://a b:1", RelayURL.Invalid.character(" ")), ("tcp://a\rb:1", .character("\r")),
        ("tcp://b\u{FC}cher:1", .character("\u{FC}")), ("tcp://[fe80::1%1]:1", .zone),
        ("tcp://u@h:1", .character("@")), ("tcp://h:+1", .form), ("tcp://h: 1", .form),
        ("tcp://[h]:1", .form), ("tcp://[::1:1", .form), ("ws://h/a\u{E9}", .character("\u{E9}")),
        ("tcp://[::1]x:1", .form), ("tcp://[1.2.3.4]:1", .form), ("tcp://h%41:1", .character("%")),
    ])
    func theReasonIsNamed(_ text: String, _ reason: RelayURL.Invalid) {
        #expect(throws: reason) { try RelayURL(text) }
    }

    @Test(arguments: [
        "", "127.0.0.1:7667", "tcp://", "tcp://host", "tcp://host:", "tcp://:1", "tcp://host:70000",
        "tcp://a b:1", "tcp://::1:7667", "tls://host", "tcp://user@host:1", "tcp://host:1/path",
        "tcp://h:1#sha256=" + String(repeating: "a", count: 64), "tls://h:1#sha256=abc",
        "wss://h/a b", "ws://h?x", "ftp://h:1", "wss://h#x",
    ])
    func notAddresses(_ text: String) {
        #expect(throws: RelayURL.Invalid.self) { try RelayURL(text) }
    }

    @Test func badWakeUpsAndInvitationsAreRefused() {
        func reason(_ type: String, _ payload: JSONObject) -> Reason? {
            do throws(Reason) {
                _ = try Request(Frame(type: type, requestID: "x", payload: payload))
                return nil
            } catch { return error }
        }
        let url = JSON.string("https://a.example/")
        #expect(reason("wake_register", ["url": url, "kind": .string("message")]) == nil)
        let long = "https://a.example/" + String(repeating: "x", count: WireLimits.wakeURLBytes)
        for bad in [
            ["url": url], ["url": url, "kind": .string("mail")], ["kind": .string("message")],
            ["url": .string("ftp://a/b"), "kind": .string("message")],
            ["url": .string("https://a@b/"), "kind": .string("message")],
            ["url": .string("https://a/\r\nX: y"), "kind": .string("message")],
            ["url": .string(long), "kind": .string("message")],
            ["url": url, "kind": .string("message"), "token": .string("a b")],
            ["url": url, "kind": .string("message"), "token": .string("")],
        ] as [JSONObject] {
            #expect(reason("wake_register", bad) == .badFields, "\(bad)")
        }
        #expect(reason("wake_unregister", ["kind": .string("mail")]) == .badFields)
        let (tag, key) = (JSON.base64(randomBytes(16)), JSON.base64(randomBytes(32)))
        for bad in [
            ["tag": tag], ["tag": key, "key": key],
            ["tag": tag, "key": key, "label": .string("")],
            ["tag": tag, "key": key, "label": .string(String(repeating: "x", count: 65))],
        ] as [JSONObject] {
            #expect(reason("invite", bad) == .badFields, "\(bad)")
        }
    }
}
