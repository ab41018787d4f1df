import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The records of Message Flow's server and clients, held to the bytes of its document.
@Suite struct FlowWireTests {
    static let id = "11111111-1111-4111-8111-111111111111"
    static let from = KeyID(publicKey: [UInt8](repeating: 7, count: 32))
    static let to = KeyID(publicKey: [UInt8](repeating: 8, count: 32))
    static let preKey = #"{"identityKey":"AA==","signedPreKeyId":7,"oneTimePreKeyId":null}"#

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func object(_ text: String) throws -> JSONObject {
        try JSON.object(parsing: Array(text.utf8))
    }

    private func record() throws -> JSONObject {
        try FlowSample.record(Self.id, from: Self.from, to: Self.to)
    }

    private let message = FlowSample.message(id, from: from, to: to)

    @Test func anEnvelopeIsTheDocumentedMessage() throws {
        let record = try record()
        let bytes = try #require(FlowWire.message(of: record.serialized()))
        #expect(text(bytes) == message)
        let push = FlowWire.push(bytes)
        #expect(text(push) == #"{"type":"new_message","message":\#(message)}"# + "\n")
        #expect(text(FlowWire.push(bytes, http: true)) == #"{"message":\#(message)}"# + "\n")
        for form in [text(push), #"{"message":\#(message)}"#, message] {
            #expect(try FlowWire.envelope(of: object(form)).bytes == record.serialized())
        }
    }

    /// The first messages of a session have the key data next to the four documented members.
    @Test func aPreKeyStandsBesideThePayload() throws {
        var record = try record()
        var payload = try #require(record["payload"]?.object)
        payload["preKey"] = .object(try object(Self.preKey))
        record["payload"] = .object(payload)
        let bytes = try #require(FlowWire.message(of: record.serialized()))
        #expect(
            text(bytes)
                == FlowSample.message(Self.id, from: Self.from, to: Self.to, preKey: Self.preKey))
        #expect(try FlowWire.envelope(of: object(text(bytes))).bytes == record.serialized())
    }

    /// The form would lose such members, so the envelope waits for another client.
    @Test func anEnvelopeWithMoreThanTheFormIsNoMessage() throws {
        let record = try record()
        func changed(_ name: String, _ value: JSON?) -> JSONObject {
            var record = record
            record[name] = value
            return record
        }
        func payload(_ name: String, _ value: JSON?) throws -> JSONObject {
            var payload = try #require(record["payload"]?.object)
            payload[name] = value
            return changed("payload", .object(payload))
        }
        #expect(FlowWire.message(of: record.serialized()) != nil)
        for other in [
            changed("suite", .string("sealed")), changed("suite", .string("group")),
            changed("from", nil), changed("from", .string("user-456")),
            changed("ttl", .integer(86_400)), changed("more", .integer(1)),
            changed("time", .string("2025-12-27T09:30:00.5Z")),
            changed("time", .string("2025-12-27T10:30:00+01:00")),
            changed("payload", .object([:])), try payload("kem", .string("AA==")),
            try payload("kem", .null), try payload("preKey", .null),
            try payload("preKey", .string("")), try payload("ciphertext", nil),
            try payload("chainLength", .string("1")), try payload("ratchetPublicKey", .integer(1)),
        ] {
            #expect(FlowWire.message(of: other.serialized()) == nil, "\(other)")
        }
        #expect(FlowWire.message(of: Sample.envelope(to: Self.to).bytes) == nil)
        #expect(FlowWire.message(of: Array("[".utf8)) == nil)
    }

    @Test(arguments: [
        "{}", #"{"type":"new_message"}"#, #"{"message":{}}"#, #"{"message":[]}"#,
        #"{"type":"ack","message":MESSAGE}"#, #"{"type":7,"message":MESSAGE}"#,
    ])
    func anotherRecordIsNoMessage(_ form: String) throws {
        let record = try object(form.replacing("MESSAGE", with: message))
        #expect(throws: Reason.badFields) { try FlowWire.envelope(of: record) }
    }

    @Test(arguments: [
        ("id", JSON.string("msg-123")), ("id", .integer(7)), ("from", .string("user-456")),
        ("to", .string("user-789")), ("to", .null), ("timestamp", .string("2025-12-27T...")),
        ("timestamp", .integer(7)), ("encryptedPayload", .string("...")),
        ("encryptedPayload", .object(["ciphertext": .string("")])), ("preKey", .string("AA==")),
        ("preKey", .array([])),
    ])
    func aMessageThatIsNotReadIsRefused(_ name: String, _ value: JSON) throws {
        var record = try object(message)
        record[name] = value
        #expect(throws: Reason.badFields) { try FlowWire.envelope(of: record) }
        record[name] = nil
        guard name != "preKey" else { return }
        #expect(throws: Reason.badFields) { try FlowWire.envelope(of: record) }
    }

    @Test func aMessageHasTheLimitsOfAnEnvelope() throws {
        var record = try object(message)
        var deep: JSON = .integer(1)
        for _ in 0..<WireLimits.envelopeDepth { deep = .array([deep]) }
        record["preKey"] = .object(["deep": deep])
        #expect(throws: Reason.badFields) { try FlowWire.envelope(of: record) }
        let long = JSON.string(String(repeating: "A", count: WireLimits.envelopeBytes))
        record["preKey"] = .object(["long": long])
        #expect(throws: Reason.tooLarge) { try FlowWire.envelope(of: record) }
        // The document writes more digits of a second, and other clients another zone.
        record = try object(message)
        record["timestamp"] = .string("2025-12-27T10:30:00.250+01:00")
        record["more"] = .integer(1)
        #expect(try FlowWire.envelope(of: record).bytes == self.record().serialized())
    }

    @Test func acknowledgementsAreTheDocumentedBytes() throws {
        let delivered = #"{"type":"ack","messageId":"\#(Self.id)","status":"delivered"}"#
        #expect(text(FlowWire.acknowledgement(of: Self.id, .delivered)) == delivered + "\n")
        let failed = #"{"messageId":"\#(Self.id)","status":"failed"}"#
        #expect(text(FlowWire.acknowledgement(of: Self.id, .failed, http: true)) == failed + "\n")
        #expect(
            try FlowWire.request(of: object(delivered)) == .ack(ids: [Self.id], .delivered))
        #expect(try FlowWire.request(of: object(failed)) == .ack(ids: [Self.id], .failed))
        let read = #"{"type":"ack","messageId":"\#(Self.id)","status":"read"}"#
        #expect(try FlowWire.request(of: object(read)) == .ack(ids: [Self.id], .delivered))
        for bad in [
            "{}", #"{"messageId":"msg-123","status":"delivered"}"#,
            #"{"messageId":"\#(Self.id)","status":"seen"}"#, #"{"messageId":"\#(Self.id)"}"#,
            #"{"messageId":["\#(Self.id)"],"status":"delivered"}"#,
            #"{"type":"new_message","messageId":"\#(Self.id)","status":"delivered"}"#,
        ] {
            #expect(throws: Reason.badFields, "\(bad)") {
                try FlowWire.request(of: object(bad))
            }
        }
    }

    @Test func answersOverHTTPAreTheDocumentedBytes() throws {
        let delivered = Delivered(sequence: 1, envelope: Array(message.utf8))
        let answers: [(Response, String)] = [
            (.messages([], more: false), #"{"success":true,"messages":[]}"#),
            (
                .messages([delivered, delivered], more: false),
                #"{"success":true,"messages":[\#(message),\#(message)]}"#
            ),
            (.acked, #"{"success":true}"#), (.stored, #"{"success":true}"#),
            (.duplicate, #"{"success":true}"#),
            (
                .error(Refusal(.loginFailed)),
                #"{"success":false,"type":"error","code":401,"reason":"login_failed"}"#
            ),
            (
                .deferred(Refusal(.mailboxFull)),
                #"{"success":false,"type":"deferred","code":429,"reason":"mailbox_full"}"#
            ),
        ]
        for (response, line) in answers {
            #expect(text(FlowWire.answer(response)) == line + "\n")
        }
        let envelope = try record().serialized()
        #expect(
            FlowWire.response(FlowWire.answer(answers[1].0))
                == .messages(
                    [1, 2].map { Delivered(sequence: $0, envelope: envelope) }, more: false))
        for (response, line) in answers.dropFirst(5) {
            #expect(FlowWire.response(Array(line.utf8)) == response)
        }
        #expect(FlowWire.response(Array(#"{"success":true}"#.utf8)) == .acked)
    }

    /// One bad message of a poll fails nothing but itself. An answer that no relay gives is none.
    @Test func aHostileAnswerIsBounded() throws {
        let mixed = #"{"success":true,"messages":[{},7,\#(message),[\#(message)]]}"#
        guard case .messages(let messages, more: false)? = FlowWire.response(Array(mixed.utf8))
        else {
            Issue.record("no messages")
            return
        }
        #expect(messages.map(\.envelope) == [try record().serialized()])
        let many = Array(repeating: message, count: WireLimits.fetchCount + 1)
            .joined(separator: ",")
        for bad in [
            "", "[]", "{}", #"{"success":1}"#, #"{"success":true,"messages":{}}"#,
            #"{"success":true,"messages":[\#(many)]}"#, #"{"success":false}"#,
            #"{"success":false,"type":"stored","code":1,"reason":"x"}"#,
            #"{"success":false,"type":"error","reason":"x"}"#,
            #"{"type":"messages","payload":{"envelopes":[],"more":false}}"#,
        ] {
            #expect(FlowWire.response(Array(bad.utf8)) == nil, "\(bad.prefix(60))")
        }
    }

    /// The cost of a record is known before it is parsed, as that of a frame.
    @Test func aRecordCostsWhatItsFrameCosts() throws {
        let flat = #"{"type":"ack","messageId":"\#(Self.id)","status":"read"}"#
        func content(_ text: String, _ form: RelayProtocol = .flow) -> String {
            switch IncomingFrame(Array(text.utf8), as: form).content() {
            case .unreadable(let reason): reason.rawValue
            case .frame(let id, .success(let asked)): "\(id ?? "-") \(asked.request)"
            case .frame(let id, .failure(let reason)): "\(id ?? "-") \(reason.rawValue)"
            }
        }
        #expect(content(flat).hasPrefix("\(Self.id) ack"))
        #expect(content(flat, .own) == "- bad_fields")
        #expect(content(#"{"type":"new_message","message":\#(message)}"#).hasPrefix(Self.id))
        // A frame of the own protocol is served too, but not one of another type in the place of an acknowledgement.
        let own = Request.ack(ids: [Self.id], .failed).line(requestID: "3").dropLast()
        #expect(content(text(Array(own))).hasPrefix("3 ack"))
        #expect(content(#"{"type":"ping","request_id":"4"}"#) == "4 ping")
        let login = IncomingFrame(
            Array(#"{"type":"login","payload":{}}"#.utf8), .flowAcknowledgement)
        guard case .unreadable(.badFrame) = login.content() else {
            Issue.record("a login is served as an acknowledgement")
            return
        }
        // Without a mailbox an acknowledgement has few values.
        let long = #"{"type":"ack","more":[\#(String(repeating: "0,", count: 100))0]}"#
        let frame = IncomingFrame(Array(long.utf8), as: .flow)
        #expect(frame.refusal(hasMailbox: false) == .loginRequired)
        #expect(frame.refusal(hasMailbox: true) == nil)
    }

    // MARK: The relay's state

    private func page(_ envelopes: [AddressedEnvelope], from number: Int64, hasMore: Bool) -> Page {
        var page = Page()
        page.messages = envelopes.enumerated().map {
            (
                $0.element.id,
                Delivered(sequence: number + Int64($0.offset), envelope: $0.element.bytes)
            )
        }
        page.hasMore = hasMore
        return page
    }

    /// A poll reads past the envelopes without the form until it has enough.
    @Test func aPollReadsUntilItHasEnough() throws {
        let sealed = (0..<100).map { _ in Sample.envelope(to: Self.to) }
        var poll = FlowPoll(of: Self.to, to: "http")
        poll.take(page(sealed, from: 1, hasMore: true))
        #expect(!poll.isComplete && poll.messages.isEmpty && poll.after == 100)
        let fitting = try (0..<150).map { _ in try FlowSample.envelope(to: Self.to) }
        poll.take(page(Array(sealed[..<10] + fitting[..<90]), from: 101, hasMore: true))
        #expect(!poll.isComplete && poll.messages.count == 90)
        poll.take(page(Array(fitting[90...]), from: 201, hasMore: true))
        #expect(poll.isComplete && poll.messages.count == WireLimits.fetchCount)
        let ids = try poll.messages.map { try JSON.object(parsing: $0.envelope)["id"]?.string }
        #expect(ids == fitting[..<100].map(\.id))
        // The end of the mailbox, and a store that says that more follows but gives nothing, end a poll.
        for hasMore in [false, true] {
            var poll = FlowPoll(of: Self.to, to: nil)
            poll.take(page([], from: 1, hasMore: hasMore))
            #expect(poll.isComplete && poll.messages.isEmpty)
        }
    }

    @Test func anAnswerHasALimitInBytes() throws {
        var record = try record()
        var payload = try #require(record["payload"]?.object)
        payload["ciphertext"] = .string(String(repeating: "A", count: 60_000))
        record["payload"] = .object(payload)
        let long = try AddressedEnvelope(record)
        var poll = FlowPoll(of: Self.to, to: nil)
        poll.take(page(Array(repeating: long, count: 50), from: 1, hasMore: true))
        #expect(poll.isComplete && poll.messages.count == 8)
        #expect(FlowWire.answer(.messages(poll.messages, more: false)).count < 1 << 19)
    }

    /// Envelopes without the form do not use the window of pushes.
    @Test func aSubscriptionPassesOverWhatHasNoForm() throws {
        var subscription = Subscription()
        var number: Int64 = 0
        for _ in 0..<20 {
            let read = subscription.beginRead()
            let (after, limit) = try #require(read)
            #expect(after == number)
            let sealed = (0..<limit).map { _ in Sample.envelope(to: Self.to) }
            #expect(
                subscription.endRead(page(sealed, from: number + 1, hasMore: true), as: .flow)
                    .isEmpty)
            number += Int64(limit)
        }
        #expect(number > WireLimits.window)
        _ = subscription.beginRead()
        let envelope = try FlowSample.envelope(to: Self.to)
        let pushes = subscription.endRead(
            page([envelope], from: number + 1, hasMore: false), as: .flow)
        let message = try #require(FlowWire.message(of: envelope.bytes))
        #expect(
            pushes == [
                .newMessage(Delivered(sequence: number + 1, envelope: message)), .empty,
            ])
    }

    /// A client with a token in its handshake gets only what the document has, and refusals.
    @Test func aHandshakeWithATokenIsSilent() {
        var named = FlowHandshake(token: "token")
        var frames = 0
        while named.next() != nil { frames += 1 }
        #expect(frames == 2)
        let authorization = FlowHandshake.requestID
        for response in [Response.session(nil, token: "t"), .subscribed] {
            #expect(!named.shows(response, to: authorization))
            #expect(named.shows(response, to: "1"))
        }
        for response in [Response.acked, .empty, .replaced] {
            #expect(!named.shows(response, to: nil))
        }
        let refused = Response.error(Refusal(.notAdmitted))
        #expect(named.shows(refused, to: authorization))
        #expect(FlowHandshake.ends(refused, to: authorization))
        #expect(
            !FlowHandshake.ends(refused, to: "1") && !FlowHandshake.ends(.acked, to: authorization))
        var unnamed = FlowHandshake(token: nil)
        let first = unnamed.next()
        #expect(first == nil)
        for response in [Response.acked, .empty, .replaced] {
            #expect(unnamed.shows(response, to: nil))
        }
    }
}
