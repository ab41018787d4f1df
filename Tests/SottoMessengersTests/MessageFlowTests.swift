import Sotto
import SottoMessengers
import TestSupport
import Testing

struct MessageFlowTests {
    static func object(_ text: String) throws -> JSONObject {
        try JSON.object(parsing: Array(text.utf8))
    }

    /// A ratchet message with a pre-key message header.
    static let payload = #"""
        {"ciphertext":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==","ratchetPublicKey":"i0zX7H5XrmGIc5M9axqZRGFrrmxl+xKk+g9RNnA27hI=","chainLength":1,"previousChainLength":0}
        """#
    static let preKey = #"""
        {"identityKey":"i0zX7H5XrmGIc5M9axqZRGFrrmxl+xKk+g9RNnA27hI=","ephemeralKey":"i0zX7H5XrmGIc5M9axqZRGFrrmxl+xKk+g9RNnA27hI=","signedPreKeyId":7,"oneTimePreKeyId":null}
        """#
    static let message =
        #"{"id":"m-1","from":"alice","to":"bob","encryptedPayload":\#(payload),"timestamp":"2026-02-03T04:05:06Z"}"#

    @Test func theDocumentedMessageIsReadAndWritten() throws {
        let record = try Self.object(#"{"type":"new_message","message":\#(Self.message)}"#)
        let message = try MessageFlowMessage(record: record)
        #expect(message.id == "m-1" && message.from == "alice" && message.to == "bob")
        #expect(message.time == Timestamp("2026-02-03T04:05:06Z"))
        #expect(message.content.preKeyHeader == nil)
        #expect(message.record() == record)
    }

    @Test func theFormsOfHTTPAreReadAndWritten() throws {
        let http = try Self.object(#"{"message":\#(Self.message)}"#)
        let message = try MessageFlowMessage(record: http)
        #expect(message.record(http: true) == http)
        #expect(try MessageFlowMessage(record: Self.object(Self.message)) == message)
    }

    @Test func theFileIsReadAndWrittenWithAndWithoutAPreKeyHeader() throws {
        for text in [
            #"{"v":1,"encryptedPayload":\#(Self.payload)}"#,
            #"{"v":1,"encryptedPayload":\#(Self.payload),"preKey":\#(Self.preKey)}"#,
        ] {
            let file = try Self.object(text)
            let content = try MessageFlowContent(file: file)
            #expect(content.file == file)
            #expect((content.preKeyHeader == nil) == (file["preKey"] == nil))
            #expect(try MessageFlowContent(payload: content.payload) == content)
            let message = try MessageFlowMessage(
                id: "m", from: "a", to: "b", content: content, time: Timestamp(seconds: 0))
            #expect(try MessageFlowMessage(record: message.record()) == message)
            #expect(try MessageFlowMessage(record: message.record()).content == content)
        }
    }

    @Test func aSessionWorksOverMessageFlow() throws {
        let signed = SecretPreKey(.signed, id: 1)
        let bundle = try PreKeyBundle(
            identityKey: People.bob.signingKey.publicKey,
            signedPreKey: signed.signed(by: People.bob, at: Timestamp(seconds: 0)),
            pqSignedPreKey: nil, oneTimePreKey: nil)
        var session = try PeerSession(by: People.alice, with: bundle)
        let envelope = try session.seal(
            body: Message.textBody("hi"), from: People.alice, time: Timestamp(seconds: 0))
        let content = try MessageFlowContent(payload: envelope.payload)
        let sent = try MessageFlowMessage(
            id: envelope.id, from: "alice", to: "bob", content: content, time: envelope.time)
        let bytes = sent.record().serialized()
        let read = try MessageFlowMessage(record: try JSON.object(parsing: bytes))
        #expect(read.content.payload == envelope.payload)
        #expect(read.content.preKeyHeader != nil)
    }

    @Test func aMalformedMessageIsRefused() throws {
        let good = try Self.object(Self.message)
        let bad: [(String, JSON?, MessageFlowError)] = [
            ("id", nil, .member("id")), ("id", .string(""), .member("id")),
            ("from", .string(String(repeating: "a", count: 256)), .member("from")),
            ("to", .integer(1), .member("to")), ("timestamp", nil, .member("timestamp")),
            ("timestamp", .string("yesterday"), .member("timestamp")),
            ("encryptedPayload", nil, .member("encryptedPayload")),
            ("encryptedPayload", .object([:]), .payload), ("preKey", .object([:]), .payload),
            ("preKey", .string("x"), .payload), ("type", .string("ack"), .member("type")),
            ("type", .string("new_message"), .member("message")),
            ("message", .string("x"), .member("message")),
        ]
        for (name, value, error) in bad {
            var record = good
            record[name] = value
            #expect(throws: error) { try MessageFlowMessage(record: record) }
        }
        #expect(throws: MessageFlowError.member("v")) { try MessageFlowContent(file: good) }
        var file = good
        file["v"] = .integer(2)
        #expect(throws: MessageFlowError.version(2)) { try MessageFlowContent(file: file) }
    }

    @Test(arguments: MessageFlowAck.Status.allCases)
    func anAcknowledgementIsReadAndWritten(_ status: MessageFlowAck.Status) throws {
        let ack = try MessageFlowAck(messageID: "m-1", status: status)
        let text = #"{"type":"ack","messageId":"m-1","status":"\#(status.rawValue)"}"#
        #expect(String(decoding: ack.record().serialized(), as: UTF8.self) == text)
        #expect(try MessageFlowAck(record: ack.record()) == ack)
        #expect(ack.record(http: true)["type"] == nil)
        #expect(try MessageFlowAck(record: ack.record(http: true)) == ack)
    }

    @Test func aMalformedAcknowledgementIsRefused() {
        let bad: [(JSONObject, String)] = [
            (["type": .string("nack")], "type"), ([:], "messageId"),
            (["messageId": .string("")], "status"),
            (["messageId": .string(""), "status": .string("failed")], "messageId"),
            (["messageId": .string("m"), "status": .string("seen")], "status"),
        ]
        for (record, name) in bad {
            #expect(throws: MessageFlowError.member(name)) { try MessageFlowAck(record: record) }
        }
    }

    /// A file has no time. The time of reading is in neither its digest nor its message.
    @Test func theTimeOfReadingDoesNotChangeAFile() throws {
        let content = try MessageFlowContent(
            file: Self.object(#"{"v":1,"encryptedPayload":\#(Self.payload)}"#))
        let envelopes = [0, 1, 1_000_000].map {
            content.envelope(
                to: People.bob.id, from: People.alice.id, at: Timestamp(seconds: $0))
        }
        #expect(Set(envelopes.map { content.digest(of: $0) }).count == 1)
        #expect(Set(envelopes.map(\.repeatID)).count == 1)
    }
}
