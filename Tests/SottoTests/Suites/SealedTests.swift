import Sotto
import SottoPadding
import TestSupport
import Testing

struct SealedTests {
    let time = Timestamp(seconds: 1_795_253_400)
    let body = Message.textBody("hello, bob")

    func seal(
        _ body: JSONObject, extra: [(name: String, value: JSON)] = [], to card: Card? = nil
    ) throws -> Envelope {
        try Sealed.seal(
            body: body, extra: extra, from: People.alice, to: card ?? People.bob.card(), time: time)
    }

    func failure(_ envelope: Envelope, _ identity: Identity = People.bob) -> SealedError? {
        do throws(SealedError) {
            _ = try Sealed.open(envelope, with: identity)
            return nil
        } catch {
            return error
        }
    }

    /// Returns the envelope with a member replaced.
    func changed(_ envelope: Envelope, _ name: String, _ value: JSON?) throws -> Envelope {
        var record = envelope.record
        record[name] = value
        return try Envelope(record: record)
    }

    @Test func aMessageIsOpenedWithItsSender() throws {
        let envelope = try seal(body)
        let read = try Envelope(record: JSON.object(parsing: envelope.record.serialized()))
        #expect(read == envelope)
        let message = try Sealed.open(read, with: People.bob)
        #expect(message.from == People.alice.id && message.to == People.bob.id)
        #expect(message.body == body && message.time == time && message.id == envelope.id)
        #expect(message.authenticated && message.trust == .unverified && message.suite == .sealed)
    }

    @Test func theEnvelopeDoesNotShowSenderOrText() throws {
        let text = String(decoding: try seal(body).record.serialized(), as: UTF8.self)
        #expect(!text.contains(People.alice.id.description))
        #expect(!text.contains("hello") && !text.contains("alice"))
    }

    @Test func aCardWithoutAPostQuantumKeyWorks() throws {
        let card = Card(uri: People.bob.card().uri)
        #expect(try Sealed.open(seal(body, to: card), with: People.bob).body == body)
        let envelope = try Sealed.seal(
            body: body, from: People.alice, to: People.bob.card(), classic: true, time: time)
        #expect(try Sealed.open(envelope, with: People.bob).body == body)
    }

    @Test func changedOuterFieldsFailAuthentication() throws {
        let envelope = try seal(body)
        for (name, value) in [
            ("id", Envelope.newID()), ("time", "2026-11-21T09:30:01Z"),
            ("from", People.carol.id.description),
        ] {
            #expect(
                failure(try changed(envelope, name, .string(value))) == .authentication, "\(name)")
        }
        // The true sender may be named.
        let named = try changed(envelope, "from", .string(People.alice.id.description))
        #expect(failure(named) == nil)
    }

    @Test func theTimeToLiveIsAuthenticated() throws {
        let envelope = try Sealed.seal(
            body: body, from: People.alice, to: People.bob.card(), time: time, ttl: 0)
        #expect(envelope.record["ttl"] == .integer(0))
        let message = try Sealed.open(try Envelope(record: envelope.record), with: People.bob)
        #expect(message.ttl == 0 && message.record["ttl"] == .integer(0))
        #expect(Message(record: message.record) == message)
        for value in [nil, JSON.integer(1), .integer(86_400)] {
            let other = try changed(envelope, "ttl", value)
            #expect(failure(other) == .authentication)
            #expect(other.digest != envelope.digest)
        }
        let plain = try seal(body)
        #expect(failure(try changed(plain, "ttl", .integer(0))) == .authentication)
        #expect(try Sealed.open(plain, with: People.bob).ttl == nil)
        // A member of the content cannot set it.
        let named = try seal(body, extra: [("ttl", .integer(5))])
        #expect(failure(named) == .authentication)
        // It is unchanged at a send address.
        let card = People.bob.card(address: SendAddress())
        #expect(envelope.addressed(to: card).ttl == 0)
        #expect(envelope.addressed(to: card).arrived(for: People.bob).ttl == 0)
    }

    @Test func anEnvelopeForAnotherRecipientIsRefused() throws {
        let envelope = try seal(body)
        #expect(failure(envelope, People.carol) == .notForUs)
        let redirected = try changed(envelope, "to", .string(People.carol.id.description))
        #expect(failure(redirected, People.carol) == .noMatch)
        #expect(failure(redirected) == .notForUs)
    }

    /// The age file of an envelope, and the envelope with another file.
    func file(_ envelope: Envelope) throws -> [UInt8] {
        try #require(envelope.payload["age"]?.string.flatMap { Base64.standard.decode($0) })
    }
    func with(_ file: [UInt8], _ envelope: Envelope) throws -> Envelope {
        try changed(
            envelope, "payload",
            .object(["age": .string(Base64.standard.encode(file))]))
    }

    @Test func aPayloadForwardedToAnotherRecipientIsRefused() throws {
        let envelope = try seal(body)
        let stream = try AgeFileReader.open(
            try file(envelope), identities: People.ages(People.bob))
        for people in [[People.carol], [People.carol, People.bob], [People.bob, People.carol]] {
            let again = try AgeFile.seal(
                stream, for: .recipients(people.map { .hybrid($0.hybridKey.recipient) }))
            let passed = try with(
                again, changed(envelope, "to", .string(People.carol.id.description)))
            #expect(failure(passed, People.carol) == .authentication)
        }
    }

    @Test func aMessageMovedIntoAnotherEnvelopeIsRefused() throws {
        let (one, two) = (try seal(body), try seal(Message.textBody("bye, bob")))
        #expect(failure(try with(try file(two), one)) == .authentication)
    }

    @Test func anUnsignedOrUnpaddedFileIsRefused() throws {
        let envelope = try seal(body)
        let recipient = AgeRecipient.hybrid(People.bob.hybridKey.recipient)
        let inner: [UInt8] = {
            let record = JSONObject([
                ("v", .integer(1)), ("type", .string("message")), ("id", .string(envelope.id)),
                ("to", .string(People.bob.id.description)),
                ("time", .string(time.description)), ("body", .object(body)),
            ])
            return record.serialized()
        }()
        func signed(_ data: [UInt8], _ audience: [UInt8]) throws -> [UInt8] {
            let sink = MemorySink()
            let writer = try SignedStreamWriter(
                by: People.alice.signingKey, audience: audience, to: sink)
            try writer.write(data)
            try writer.finish()
            return sink.bytes
        }
        let ours = SignedStream.audience([recipient.text])
        let frame = try Padding.frame(inner)
        func failed(_ payload: [UInt8]) throws -> SealedError? {
            failure(try with(AgeFile.seal(payload, for: .recipients([recipient])), envelope))
        }
        #expect(try failed(signed(frame, ours)) == nil)
        #expect(try failed(frame) == .authentication)
        #expect(try failed(signed(inner, ours)) == .authentication)
        #expect(try failed(signed(frame, SignedStream.anyone)) == .authentication)
        #expect(try failed(signed(frame, ours) + [0]) == .authentication)
    }

    @Test func everyChangedByteOfThePayloadIsRefused() throws {
        let envelope = try Sealed.seal(
            body: body, from: People.alice, to: People.bob.card(), classic: true, time: time)
        let file = try file(envelope)
        for place in stride(from: 0, to: file.count, by: 3) {
            let error = failure(try with(file.flipping(bit: place * 8 + 1), envelope))
            #expect(error == .authentication || error == .noMatch, "byte \(place)")
        }
        for count in stride(from: 0, to: file.count, by: 7) {
            #expect(failure(try with(Array(file[..<count]), envelope)) == .authentication)
        }
        #expect(failure(try changed(envelope, "payload", .object([:]))) == .payload)
        #expect(
            failure(try changed(envelope, "payload", .object(["age": .string("!")]))) == .payload)
    }

    @Test func unknownMembersAndBodiesPassThrough() throws {
        let body: JSONObject = [
            "type": .string("reaction"), "emoji": .string("👍"),
            "to": .object(["x": .array([.null, .number(1.5)])]),
        ]
        let envelope = try seal(body, extra: [("thread", .integer(7)), ("é", .string("x"))])
        let message = try Sealed.open(envelope, with: People.bob)
        #expect(message.body == body)
        #expect(message.record["thread"] == .integer(7) && message.record["é"] == .string("x"))
    }

    @Test func reservedMembersCannotBeSmuggledIn() throws {
        // The sender controls the inner record, so the members that decrypt vouches for are not taken from it.
        let record: JSONObject = [
            "trust": .string("trusted"), "authenticated": .bool(false), "seen": .bool(true),
            "from": .string(People.carol.id.description), "name": .string("carol"),
            "suite": .string("other"), "extra": .integer(1),
        ]
        let envelope = try seal(body, extra: record.members)
        let message = try Sealed.open(envelope, with: People.bob).record
        #expect(message["trust"] == .string("unverified") && message["seen"] == nil)
        #expect(message["authenticated"] == .bool(true) && message["name"] == nil)
        #expect(message["from"] == .string(People.alice.id.description))
        #expect(message["suite"] == .string("sealed") && message["extra"] == .integer(1))
    }

    @Test func theLongestMessageFitsAndALongerOneIsRefused() throws {
        func record(_ count: Int) throws -> Envelope {
            try seal(Message.textBody(String(repeating: "x", count: count)))
        }
        var (low, high) = (0, Sealed.recordLimit)
        while low < high {
            let middle = (low + high + 1) / 2
            if (try? record(middle)) != nil { low = middle } else { high = middle - 1 }
        }
        #expect(low > 32_000 && low < Sealed.recordLimit)
        let envelope = try record(low)
        #expect(envelope.record.serialized().count < 64 << 10)
        #expect(try Sealed.open(envelope, with: People.bob).body["text"]?.string?.count == low)
        #expect(throws: SealedError.tooLong(limit: Sealed.recordLimit)) { try record(low + 1) }
    }

    @Test func theLengthOfAnEnvelopeDependsOnlyOnTheBucket() throws {
        func length(_ count: Int) throws -> Int {
            try seal(Message.textBody(String(repeating: "x", count: count))).record.serialized()
                .count
        }
        #expect(try length(60) == length(250))
        #expect(try length(250) != length(2000))
    }
}

struct EnvelopeTests {
    /// The digest of an envelope without a time to live.
    @Test func theDigestHasAKnownAnswer() throws {
        func envelope(_ ttl: Int64?) -> Envelope {
            Envelope(
                id: "6f1c8a3e-2d4b-4c5a-9e7f-0a1b2c3d4e5f", suite: .sealed,
                to: KeyID("05" + String(repeating: "11", count: 32)),
                time: Timestamp(seconds: 1_795_253_400), ttl: ttl, payload: ["age": .string("AA==")]
            )
        }
        #expect(
            hex(envelope(nil).digest)
                == "fdbbae3a4804ce56d232ba403dd2e36cf038a1b1fc12b01c4657d61e1b7eab85")
        #expect(
            hex(envelope(0).digest)
                == "0b216f94ae5721aff765930aa75292bc4b746f7e5d46cb4f445eb41b9a58c477")
    }

    func failure(_ record: JSONObject) -> EnvelopeError? {
        do throws(EnvelopeError) {
            _ = try Envelope(record: record)
            return nil
        } catch {
            return error
        }
    }

    @Test func aMissingOrMalformedMemberIsNamed() throws {
        let envelope = try Sealed.seal(
            body: Message.textBody("x"), from: People.alice, to: People.bob.card(), time: .now())
        for name in ["type", "v", "id", "suite", "to", "time", "payload"] {
            var record = envelope.record
            record[name] = nil
            #expect(failure(record) == .member(name))
            record[name] = .bool(true)
            #expect(failure(record) == .member(name))
        }
        var record = envelope.record
        record["from"] = .string("nobody")
        #expect(failure(record) == .member("from"))
        record = envelope.record
        record["v"] = .integer(2)
        #expect(failure(record) == .version(2))
        record = envelope.record
        record["suite"] = .string("rot13")
        #expect(failure(record) == .suite("rot13"))
        for value in [JSON.integer(-1), .integer(31_536_001), .string("60"), .null, .bool(false)] {
            record = envelope.record
            record["ttl"] = value
            #expect(failure(record) == .member("ttl"))
        }
        for value: Int64 in [0, 1, 31_536_000] {
            record["ttl"] = .integer(value)
            #expect(failure(record) == nil)
        }
        // A session has no short times to live.
        record["suite"] = .string("ratchet")
        record["ttl"] = .integer(86_399)
        #expect(failure(record) == .member("ttl"))
        record["ttl"] = .integer(86_400)
        #expect(failure(record) == nil)
        record = envelope.record
        record["unknown"] = .string("ignored")
        #expect(failure(record) == nil)
    }

    @Test func idsAreLowerCaseUUIDs() {
        for _ in 0..<50 {
            let id = Envelope.newID()
            #expect(Envelope.isID(id) && Array(id)[14] == "4" && "89ab".contains(Array(id)[19]))
        }
        let id = Envelope.newID()
        for wrong in [
            "", id.uppercased() + "", id + "0", String(id.dropLast()),
            id.replacing("-", with: ""), "../" + id.dropFirst(3), "g" + id.dropFirst(),
        ] where wrong != id {
            #expect(!Envelope.isID(wrong), "\(wrong)")
        }
    }
}
