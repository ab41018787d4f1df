import TestSupport
import Testing

@testable import Sotto

/// Sessions as their callers use them: begun from a bundle, and stored between messages.
struct PeerSessionTests {
    let alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
    let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    let signed = SecretPreKey(.signed, id: 1)
    let postQuantum = SecretPreKey(.postQuantum, id: 2)
    let oneTime = SecretPreKey(.oneTime, id: 3)
    let time = Timestamp(seconds: 1_700_000_000)

    func publication() -> PreKeyPublication {
        PreKeyPublication(
            by: bob, signedPreKey: signed.signed(by: bob, at: time),
            pqSignedPreKey: postQuantum.signed(by: bob, at: time),
            oneTimePreKeys: [oneTime.publicHalf])
    }

    func bundle() throws -> PreKeyBundle {
        let publication = publication()
        return try publication.bundle(oneTime: publication.oneTimePreKeys.first)
    }

    var secrets: PeerSession.PreKeys {
        PeerSession.PreKeys(signed: signed, postQuantum: postQuantum, oneTime: oneTime)
    }

    /// Returns the session after writing and reading it.
    func stored(_ session: PeerSession) throws -> PeerSession {
        let bytes = session.encoded()
        let again = try #require(PeerSession(encoded: bytes))
        #expect(again.encoded() == bytes)
        return again
    }

    @Test func aConversationSurvivesBeingStoredAfterEachStep() throws {
        var a = try stored(try PeerSession(by: alice, with: bundle()))
        #expect(a.origin.isPostQuantum && a.origin.hasOneTimePreKey)
        var first = [Envelope]()
        for text in ["one", "two", "three"] {
            first.append(
                try a.seal(body: Message.textBody(text), from: alice, time: time))
            a = try stored(a)
        }
        let header = try #require(try PeerSession.preKeyHeader(in: first[2]))
        var b = try PeerSession(by: bob, accepting: header, with: secrets)
        #expect(b.tag == a.tag && b.peer == alice.id && b.origin == a.origin)
        // Out of order, with the middle message late.
        for (index, text) in [(2, "three"), (0, "one")] {
            let message = try b.open(first[index])
            #expect(message.body == Message.textBody(text) && message.from == alice.id)
            b = try stored(b)
        }
        let answer = try b.seal(body: Message.textBody("yes"), from: bob, time: time)
        #expect(try PeerSession.preKeyHeader(in: answer) == nil)
        b = try stored(b)
        #expect(try a.open(answer).body == Message.textBody("yes"))
        a = try stored(a)
        let later = try a.seal(body: Message.textBody("four"), from: alice, time: time)
        #expect(try PeerSession.preKeyHeader(in: later) == nil)
        #expect(try b.open(later).body == Message.textBody("four"))
        #expect(try b.open(first[1]).body == Message.textBody("two"))
        #expect(throws: RatchetError.self) { try b.open(first[1]) }
    }

    @Test func outerFieldsAreComparedWithInnerOnes() throws {
        var a = try PeerSession(by: alice, with: bundle())
        let envelope = try a.seal(body: Message.textBody("x"), from: alice, time: time)
        let header = try #require(try PeerSession.preKeyHeader(in: envelope))
        let fresh = try PeerSession(by: bob, accepting: header, with: secrets)
        let later = Timestamp(seconds: time.seconds + 1)
        for other in [
            Envelope(
                id: Envelope.newID(), suite: .ratchet, to: bob.id, from: alice.id, time: time,
                payload: envelope.payload),
            Envelope(
                id: envelope.id, suite: .ratchet, to: bob.id, from: alice.id, time: later,
                payload: envelope.payload),
        ] {
            var b = fresh
            #expect(throws: RatchetError.authentication) { try b.open(other) }
            #expect(b.encoded() == fresh.encoded())
            #expect(try b.open(envelope).id == envelope.id)
        }
    }

    /// The header names the kind of the session, and SK depends on it: a relay cannot choose it.
    @Test func aRelayCannotChangeTheKindOfASession() throws {
        var a = try PeerSession(by: alice, with: bundle())
        let envelope = try a.seal(body: Message.textBody("x"), from: alice, time: time)
        let known = try #require(try PeerSession.preKeyHeader(in: envelope)).object
        #expect(known["ratchet"] == .string("kem/v1"))
        func header(_ changes: [(String, JSON?)]) throws -> PreKeyHeader {
            var object = known
            for (name, value) in changes { object[name] = value }
            return try PreKeyHeader(object)
        }
        for changes in [
            [("ratchet", nil)], [("ratchet", .null)], [("ratchet", .integer(1))],
            [("kemCiphertext", nil)], [("pqPreKeyId", nil)],
            [("kemCiphertext", nil), ("pqPreKeyId", nil)],
        ] as [[(String, JSON?)]] {
            #expect(throws: RatchetError.payload) { try header(changes) }
        }
        #expect(throws: RatchetError.laterKind) { try header([("ratchet", .string("kem/v2"))]) }
        let classical = try header([
            ("ratchet", nil), ("kemCiphertext", nil), ("pqPreKeyId", nil),
        ])
        var b = try PeerSession(by: bob, accepting: classical, with: secrets)
        #expect(throws: RatchetError.authentication) { try b.open(envelope) }
        b = try PeerSession(by: bob, accepting: header([]), with: secrets)
        #expect(try b.open(envelope).body == Message.textBody("x"))
        // A classical session cannot become a hybrid one.
        let plain = try PreKeyBundle(
            identityKey: bob.id.publicKey, signedPreKey: signed.signed(by: bob, at: time),
            pqSignedPreKey: nil, oneTimePreKey: nil)
        var old = try PeerSession(by: alice, with: plain)
        let sent = try old.seal(body: Message.textBody("y"), from: alice, time: time)
        #expect(sent.payload["kem"] == nil && !old.origin.isPostQuantum)
        let begun = try #require(try PeerSession.preKeyHeader(in: sent))
        #expect(begun.object["ratchet"] == nil)
        b = try PeerSession(
            by: bob, accepting: begun, with: .init(signed: signed, postQuantum: nil, oneTime: nil))
        #expect(try b.open(sent).body == Message.textBody("y"))
    }

    /// The longest message of a session, with its longest headers, fits into an envelope.
    @Test func theLongestMessageHasAnEnvelope() throws {
        var a = try PeerSession(by: alice, with: bundle())
        var body = Message.textBody("")
        func count(_ length: Int) throws -> Int? {
            body["text"] = .string(String(repeating: "x", count: length))
            var copy = a
            do throws(RatchetError) {
                return try copy.seal(body: body, from: alice, time: time).record.serialized().count
            } catch {
                #expect(error == .tooLong(limit: MessageContent.limit))
                return nil
            }
        }
        var length = MessageContent.limit
        while try count(length) == nil { length -= 1 }
        #expect(try #require(try count(length)) <= 48_062)
        _ = try a.seal(body: body, from: alice, time: time)
    }

    /// An escape has six bytes. A message that is refused changes nothing.
    @Test func aMessageOfEscapesIsRefusedBeforeItTakesAPlace() throws {
        var a = try PeerSession(by: alice, with: bundle())
        let most = MessageContent.limit / 6
        for length in stride(from: most - 300, through: most + 1, by: 7) {
            let body = Message.textBody(String(repeating: "\u{1}", count: length))
            let sent = a.sentCount
            do throws(RatchetError) {
                _ = try a.seal(body: body, from: alice, time: time)
                #expect(a.sentCount == sent + 1 && length < most)
            } catch {
                #expect(error == .tooLong(limit: MessageContent.limit) && a.sentCount == sent)
            }
        }
        #expect(a.sentCount > 10)
    }

    @Test func aPublicationIsReadOnlyWithAllItsSignatures() throws {
        let record = publication().record
        let read = try PreKeyPublication(record: record)
        #expect(read.oneTimePreKeys == [oneTime.publicHalf] && read.owner == bob.id)
        let bundle = try read.bundle(oneTime: read.oneTimePreKeys.first)
        #expect(try PreKeyBundle(record: bundle.record) == bundle)
        #expect(bundle.signedPreKey.date?.time == time)
        // A changed part is detected even under a new outer signature.
        for part in ["signedPreKey", "pqSignedPreKey"] {
            for member in ["key", "signature", "time", "timeSignature"] {
                var bad = record
                var inner = try #require(bad[part]?.object)
                if member == "time" {
                    inner[member] = .string(Timestamp(seconds: time.seconds + 60).description)
                } else {
                    var bytes = try #require(
                        inner[member]?.string.flatMap { Base64.standard.decode($0) })
                    bytes[5] ^= 1
                    inner[member] = .string(Base64.standard.encode(bytes))
                }
                bad[part] = .object(inner)
                #expect(throws: PreKeyBundleError.signature) { try PreKeyPublication(record: bad) }
                SignedRecord.sign(&bad, with: bob.signingKey)
                #expect(throws: PreKeyBundleError.signature) { try PreKeyPublication(record: bad) }
                var alone = bundle.record
                alone[part] = .object(inner)
                #expect(throws: PreKeyBundleError.signature) { try PreKeyBundle(record: alone) }
            }
        }
        var unsorted = record
        unsorted["oneTimePreKeys"] = .array(
            [oneTime, SecretPreKey(.oneTime, id: 2)].map { .object($0.publicHalf.object) })
        SignedRecord.sign(&unsorted, with: bob.signingKey)
        #expect(throws: PreKeyBundleError.member("oneTimePreKeys")) {
            try PreKeyPublication(record: unsorted)
        }
    }

    @Test func secretPreKeysAreRestoredFromStorage() {
        for kind in SecretPreKey.Kind.allCases {
            let key = SecretPreKey(kind, id: 9)
            let again = SecretPreKey(kind, id: 9, secret: key.copySecret())
            #expect(again?.publicHalf == key.publicHalf)
            #expect(SecretPreKey(kind, id: 9, secret: [1, 2, 3]) == nil)
        }
    }

    @Test func malformedSessionBytesAreRefused() throws {
        var session = try PeerSession(by: alice, with: bundle())
        _ = try session.seal(body: [:], from: alice, time: time)
        let bytes = session.encoded()
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(PeerSession(encoded: Array(bytes[..<count])) == nil)
        }
        #expect(PeerSession(encoded: bytes + [0]) == nil)
    }

    @Test func aLowOrderKeyInABundleOrPreKeyHeaderIsRefused() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let good = try bundle()
        let low = try PreKeyBundle(
            identityKey: bob.id.publicKey,
            signedPreKey: .init(id: 1, key: zero, signature: bob.signingKey.sign(zero)),
            pqSignedPreKey: good.pqSignedPreKey, oneTimePreKey: nil)
        #expect(throws: RatchetError.lowOrderKey) { try PeerSession(by: alice, with: low) }
        let lowOneTime = try PreKeyBundle(
            identityKey: bob.id.publicKey, signedPreKey: good.signedPreKey,
            pqSignedPreKey: good.pqSignedPreKey, oneTimePreKey: .init(id: 3, key: zero))
        #expect(throws: RatchetError.lowOrderKey) { try PeerSession(by: alice, with: lowOneTime) }
        let header = PreKeyHeader(
            identityKey: alice.id.publicKey, ephemeralKey: zero, signedPreKeyID: 1,
            oneTimePreKeyID: nil, kem: nil)
        #expect(throws: RatchetError.lowOrderKey) {
            try PeerSession(by: bob, accepting: header, with: secrets)
        }
    }
}
