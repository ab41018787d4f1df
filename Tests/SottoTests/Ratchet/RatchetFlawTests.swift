import Crypto
import SottoPadding
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// The known flaws of the ratchets of Kecalek and Message Flow, with one test for each fix. The flaws of groups, QR
/// codes, key files and the login have tests in their own suites, and those of the programs in `SessionFlawTests`.
struct RatchetFlawTests {
    let alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
    let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    let signed = SecretPreKey(.signed, id: 1)
    let time = Timestamp(seconds: 1_700_000_000)

    func bundle() throws -> PreKeyBundle {
        try PreKeyBundle(
            identityKey: bob.id.publicKey, signedPreKey: signed.signed(by: bob, at: time),
            pqSignedPreKey: nil, oneTimePreKey: nil)
    }

    /// Returns Alice's and Bob's sessions after her first message.
    func sessions() throws -> (alice: PeerSession, bob: PeerSession) {
        var a = try PeerSession(by: alice, with: bundle())
        let first = try a.seal(body: Message.textBody("first"), from: alice, time: time)
        var b = try PeerSession(
            by: bob, accepting: #require(try PeerSession.preKeyHeader(in: first)), with: secrets)
        _ = try b.open(first)
        return (a, b)
    }

    var secrets: PeerSession.PreKeys {
        PeerSession.PreKeys(signed: signed, postQuantum: nil, oneTime: nil)
    }

    /// Skips and DH ratchet steps were performed before authentication.
    @Test func r2AForgedHeaderChangesNothingInASession() throws {
        var (a, b) = try sessions()
        let late = try a.seal(body: Message.textBody("late"), from: alice, time: time)
        let next = try a.seal(body: Message.textBody("next"), from: alice, time: time)
        _ = try b.open(next)
        let before = b.encoded()
        let other = Base64.standard.encode(RatchetKeyPair().publicKey)
        for number in stride(from: 0, to: 400, by: 13) as StrideTo<Int64> {
            for key in [nil, other] {
                var payload = next.payload
                payload["chainLength"] = .integer(number + 4)
                payload["previousChainLength"] = .integer(number)
                if let key { payload["ratchetPublicKey"] = .string(key) }
                let forged = Envelope(
                    id: next.id, suite: .ratchet, to: bob.id, from: alice.id, time: time,
                    payload: payload)
                #expect(throws: RatchetError.self) { try b.open(forged) }
            }
        }
        #expect(b.encoded() == before)
        // The ratchet itself does not rely on the outer fields.
        var ratchet = b.session
        for number in [3, 100, 255] as [UInt32] {
            for key in [next.payload["ratchetPublicKey"]?.string ?? "", other] {
                let header = RatchetHeader(
                    publicKey: try #require(Base64.standard.decode(key)), number: number,
                    previousLength: number)
                #expect(throws: RatchetError.authentication) {
                    try ratchet.decrypt(RatchetMessage(header: header, combined: randomBytes(80)))
                }
                #expect(ratchet.fingerprint == b.session.fingerprint)
            }
        }
        // The stored key is still present.
        #expect(try b.open(late).body == Message.textBody("late"))
    }

    /// One key for all copies, for ever, on every device.
    @Test func r3EachSealedCopyHasItsOwnKey() throws {
        // In the old form, an attacker who gets the identity once can read every copy.
        let key = SelfEncryption.key(of: alice.signingKey)
        for text in ["one", "two"] {
            let copy = try SelfEncryption.seal(Array(text.utf8), for: alice)
            #expect(try SelfEncryption.open(copy, with: key) == Array(text.utf8))
        }
        // New copies use a fresh post-quantum key each, and not that one.
        let envelopes = try ["one", "one"].map {
            try Sealed.seal(
                body: Message.textBody($0), from: alice, to: alice.card(), time: time)
        }
        let files = try envelopes.map {
            try #require($0.payload["age"]?.string.flatMap { Base64.standard.decode($0) })
        }
        var encapsulated: Set<String> = []
        for file in files {
            let header = String(decoding: file.prefix(4096), as: UTF8.self)
            let stanza = try #require(header.firstMatch(of: #/-> mlkem768x25519 (\S+)/#))
            encapsulated.insert(String(stanza.1))
            #expect(throws: SelfEncryptionError.self) { try SelfEncryption.open(file, with: key) }
        }
        #expect(encapsulated.count == 2)
        // Each copy is bound to its message.
        #expect(try Sealed.open(envelopes[0], with: alice).body == Message.textBody("one"))
        let moved = Envelope(
            id: envelopes[1].id, suite: .sealed, to: alice.id, time: time,
            payload: envelopes[0].payload)
        #expect(throws: SealedError.authentication) { try Sealed.open(moved, with: alice) }
    }

    /// The tag covered only the header.
    @Test func r4TheAssociatedDataNamesBothIdentities() throws {
        let (a, b) = try sessions()
        let both = alice.id.publicKey + bob.id.publicKey
        #expect(a.session.associatedData == both && b.session.associatedData == both)
        // The same secret with other identities, or in the other direction, belongs to another session.
        let mallory = People.carol.id.publicKey
        let secret = RatchetSecret([UInt8](repeating: 5, count: 32))
        func reader(_ associatedData: [UInt8]) -> Session {
            Session(
                responderWith: KeyAgreement(
                    secret: secret, associatedData: associatedData, kind: .classical),
                signedPreKey: signed.pair!)
        }
        var writer = Session(
            initiatorWith: KeyAgreement(
                secret: secret, associatedData: both, kind: .classical),
            theirSignedPreKey: signed.publicHalf.key)
        let message = try writer.encrypt([1, 2, 3])
        for others in [
            mallory + bob.id.publicKey, alice.id.publicKey + mallory,
            bob.id.publicKey + alice.id.publicKey, [],
        ] {
            var other = reader(others)
            #expect(throws: RatchetError.authentication) { try other.decrypt(message) }
        }
        var right = reader(both)
        #expect(try right.decrypt(message) == [1, 2, 3])
    }

    /// Without a one-time prekey, the same first message gives the same keys again. The session tells this, so that the
    /// caller can record the session.
    @Test func r5ASessionTellsWhetherItsFirstMessageCanBeReplayed() throws {
        var a = try PeerSession(by: alice, with: bundle())
        let first = try a.seal(body: [:], from: alice, time: time)
        let header = try #require(try PeerSession.preKeyHeader(in: first))
        var tags: Set<[UInt8]> = []
        for _ in 0..<2 {
            var b = try PeerSession(by: bob, accepting: header, with: secrets)
            #expect(throws: Never.self) { try b.open(first) }
            #expect(!b.origin.hasOneTimePreKey)
            tags.insert(b.tag)
        }
        // The session's tag is the same whatever else is changed.
        #expect(tags == [a.tag] && !a.origin.hasOneTimePreKey)
        var object = header.object
        object["signedPreKeyId"] = .integer(99)
        #expect(try PreKeyHeader(object).tag == a.tag)
    }

    /// The signature of a signed prekey had no date, so that an old one could be served for ever.
    @Test func r6TheDateOfASignedPreKeyIsSignedWithIt() throws {
        let old = signed.signed(by: bob, at: time)
        let new = SecretPreKey(.signed, id: 2).signed(
            by: bob, at: Timestamp(seconds: time.seconds + 30 * 86_400))
        func bundle(_ id: UInt32, _ key: [UInt8], _ signature: [UInt8], _ date: Any?) throws {
            _ = try PreKeyBundle(
                identityKey: bob.id.publicKey,
                signedPreKey: .init(
                    id: id, key: key, signature: signature,
                    date: date as? PreKeyBundle.SignedPreKey.Date),
                pqSignedPreKey: nil, oneTimePreKey: nil)
        }
        try bundle(old.id, old.key, old.signature, old.date)
        try bundle(new.id, new.key, new.signature, new.date)
        let date = try #require(old.date)
        let later = Timestamp(seconds: date.time.seconds + 1)
        // The old key with the new date or number, and a changed date.
        for (id, moved) in [
            (old.id, new.date), (new.id, old.date),
            (old.id, .init(time: later, signature: date.signature)),
        ] {
            #expect(throws: PreKeyBundleError.signature) {
                try bundle(id, old.key, old.signature, moved)
            }
        }
    }

    /// One Ed25519 key signs, agrees on keys, and is the source of derived keys.
    @Test func r7EachUseOfTheIdentityKeyIsSeparate() throws {
        // A signature for one purpose is invalid for another.
        let key = signed.publicHalf.key
        let signing = bob.signingKey
        let labelled = signing.sign(PreKeyBundle.pqLabel + key)
        let dated = try #require(signed.signed(by: bob, at: time).date).signature
        let login = signing.sign(Array("ratchet/login/v1\0".utf8) + key)
        for signature in [labelled, dated, login, alice.signingKey.sign(key)] {
            #expect(throws: PreKeyBundleError.signature) {
                try PreKeyBundle(
                    identityKey: bob.id.publicKey,
                    signedPreKey: .init(id: 1, key: key, signature: signature),
                    pqSignedPreKey: nil, oneTimePreKey: nil)
            }
        }
        let kem = SecretPreKey(.postQuantum, id: 2).publicHalf.key
        #expect(throws: PreKeyBundleError.signature) {
            try PreKeyBundle(
                identityKey: bob.id.publicKey, signedPreKey: signed.signed(by: bob, at: time),
                pqSignedPreKey: .init(id: 2, key: kem, signature: signing.sign(kem)),
                oneTimePreKey: nil)
        }
        // The keys for own copies and for messages to the identity are neither this key nor its X25519 form.
        let secrets = [
            signing.withSeed { Array($0) }, bob.agreementPair().secret.copyBytes(),
            SelfEncryption.key(of: signing).withBytes { Array($0) },
        ]
        #expect(Set(secrets).count == 3)
        #expect(bob.agreementPair().publicKey != bob.ageKey.recipient.publicKey)
        // Invalid keys and keys of small order are refused.
        let zero = [UInt8](repeating: 0, count: 32)
        for bad in Ed25519ToX25519Tests.vectors.badPublicKeys.map(\.ed25519Public.bytes)
        where bad.count == 32 {
            let header = PreKeyHeader(
                identityKey: bad, ephemeralKey: key, signedPreKeyID: 1, oneTimePreKeyID: nil,
                kem: nil)
            #expect(throws: RatchetError.lowOrderKey) {
                try PeerSession(by: bob, accepting: header, with: self.secrets)
            }
        }
        let header = PreKeyHeader(
            identityKey: alice.id.publicKey, ephemeralKey: zero, signedPreKeyID: 1,
            oneTimePreKeyID: nil, kem: nil)
        #expect(throws: RatchetError.lowOrderKey) {
            try PeerSession(by: bob, accepting: header, with: self.secrets)
        }
    }

    /// The halves were in the order of user ids, whose encoding was undefined.
    @Test func r9IdsAreComparedAsBytesAndKeysInFull() throws {
        let (a, b) = (alice.id.publicKey, bob.id.publicKey)
        func number(_ x: (String, [UInt8]), _ y: (String, [UInt8])) -> String {
            Fingerprint.safetyNumber(
                Fingerprint(userID: x.0, key: x.1), Fingerprint(userID: y.0, key: y.1),
                style: .sotto)
        }
        // Both sides see the same order, by bytes: "Z" before "a", "z" before "é".
        for (first, second) in [("Zoe", "anna"), ("zoe", "\u{E9}va"), ("e\u{301}va", "\u{E9}va")] {
            for (a, b) in [(a, b), (b, a)] {
                let expected =
                    Fingerprint(userID: first, key: a).digits
                    + Fingerprint(userID: second, key: b).digits
                #expect(number((first, a), (second, b)) == expected)
                #expect(number((second, b), (first, a)) == expected)
            }
        }
        // Two encodings of a name are two ids, which Swift would treat as equal.
        #expect(
            Fingerprint(userID: "\u{E9}va", key: a).digits
                != Fingerprint(userID: "e\u{301}va", key: a).digits)
        // Sotto's own ids have one form.
        let id = try #require(KeyID(alice.id.description.uppercased()))
        #expect(Fingerprint(id)?.digits == Fingerprint(alice.id)?.digits)
        // 30 digits are 99.6 bits; a scanned code has all 256 bits of the key.
        let uri = try ContactURI(alice.card().uri.text)
        #expect(uri.id.publicKey == a)
        for bit in 0..<256 {
            let other = ContactURI(
                id: KeyID(publicKey: a.flipping(bit: bit)), x25519: uri.x25519, name: "alice",
                relay: nil)
            #expect((try? ContactURI(other.text))?.id != uri.id)
        }
    }

    /// There were eleven lengths, none above 64 KiB, with the padding's length at the end.
    @Test func r10PaddingIsCheckedAfterTheTagAndHasNoUpperLimit() throws {
        // The padding is inside the encryption: any change gives the tag's error, and never an error of the padding.
        var (a, b) = try sessions()
        let envelope = try a.seal(body: Message.textBody("x"), from: alice, time: time)
        let before = b.encoded()
        let combined = try #require(
            envelope.payload["ciphertext"]?.string.flatMap { Base64.standard.decode($0) })
        #expect(Padding.buckets.contains(combined.count - 28))
        for bit in 0..<combined.count * 8 {
            var payload = envelope.payload
            payload["ciphertext"] = .string(Base64.standard.encode(combined.flipping(bit: bit)))
            let forged = Envelope(
                id: envelope.id, suite: .ratchet, to: bob.id, from: alice.id, time: time,
                payload: payload)
            #expect(throws: RatchetError.authentication) { try b.open(forged) }
        }
        // Wrong padding by a peer gives the same error.
        var peer = a.session
        for frame in [[], [2], [UInt8](repeating: 0xFF, count: 64)] {
            let message = try peer.encrypt(frame)
            let forged = Envelope(
                id: envelope.id, suite: .ratchet, to: bob.id, from: alice.id, time: time,
                payload: message.payload)
            #expect(throws: RatchetError.authentication) { try b.open(forged) }
        }
        #expect(b.encoded() == before)
        // Padmé is used above the last bucket: few lengths, and at most 12 % more.
        let sizes = Array(stride(from: 65_532, through: 131_000, by: 97))
        let lengths = try Set(
            sizes.map { size in
                let frame = try Padding.frame([UInt8](repeating: 0, count: size))
                #expect(Double(frame.count) <= Double(size + 5) * 1.12)
                return frame.count
            })
        #expect(lengths.count <= 33)
    }

    /// An acknowledgement with a reason tells the server the result of its forgery.
    @Test func r13AnAcknowledgementHasNoCause() throws {
        var (a, b) = try sessions()
        // With an answer of its own, the session has a pair for the low-order key.
        _ = try b.seal(body: [:], from: bob, time: time)
        let good = try a.seal(body: Message.textBody("x"), from: alice, time: time)
        let combined = try #require(
            good.payload["ciphertext"]?.string.flatMap { Base64.standard.decode($0) })
        var other = try PeerSession(by: alice, with: bundle())
        var changes = [good.payload, good.payload, good.payload, good.payload]
        changes[0]["ciphertext"] = .string(Base64.standard.encode(combined.flipping(bit: 9)))
        changes[1]["chainLength"] = .integer(1000)
        changes[2] = try other.seal(body: [:], from: alice, time: time).payload
        changes[3]["ratchetPublicKey"] = .string(
            Base64.standard.encode(Array(repeating: 0, count: 32)))
        var errors: Set<String> = []
        var acks: Set<[UInt8]> = []
        for payload in changes {
            let forged = Envelope(
                id: good.id, suite: .ratchet, to: bob.id, from: alice.id, time: time,
                payload: payload)
            do {
                _ = try b.open(forged)
                Issue.record("opened")
            } catch {
                // There are causes internally, but no field in which they could be sent.
                errors.insert("\(error)")
                let ack = try MessageFlowAck(messageID: forged.id, status: .failed)
                acks.insert(ack.record().serialized())
            }
        }
        #expect(errors.count == 3 && acks.count == 1)
        let text = #"{"type":"ack","messageId":"\#(good.id)","status":"failed"}"#
        #expect(acks == [Array(text.utf8)])
        // A cause from another client is not passed on either.
        for (name, value) in [("reason", JSON.string("tag")), ("status", .string("bad_tag"))] {
            var record = try MessageFlowAck(messageID: "m", status: .failed).record()
            record[name] = value
            #expect((try? MessageFlowAck(record: record).record())?[name] == nil)
        }
        #expect(Set(MessageFlowAck.Status.allCases) == [.delivered, .failed, .read])
    }

    /// Message Flow's program uses the same label for both of its chains, uses an X25519 secret as an Ed25519 seed, and
    /// cannot read its own messages.
    @Test func r15ChainsAreSeparateAndMessagesAreRead() throws {
        var (a, b) = try sessions()
        _ = try a.open(b.seal(body: [:], from: bob, time: time))
        _ = try a.seal(body: [:], from: alice, time: time)
        guard case .sent(let mine) = a.session.turn else {
            Issue.record("no sending chain")
            return
        }
        let theirs = try #require(a.session.receiving)
        #expect(mine.key.secret.copyBytes() != theirs.key.secret.copyBytes())
        #expect(
            mine.key.step().message.secret.copyBytes()
                != theirs.key.step().message.secret.copyBytes())
        #expect(
            mine.key.step().message.secret.copyBytes() != mine.key.step().next.secret.copyBytes())
        // Signatures use the identity key, not a key agreement key.
        let agreement = SecretBytes(copying: alice.agreementPair().secret.copyBytes())
        #expect(SigningKey(seed: agreement).publicKey != alice.id.publicKey)
        // Conversion to the app's form and back.
        for (index, text) in ["hello", "", String(repeating: "long ", count: 1000)].enumerated() {
            let (sender, reader) = index.isMultiple(of: 2) ? (alice, bob) : (bob, alice)
            let envelope =
                try index.isMultiple(of: 2)
                ? a.seal(body: Message.textBody(text), from: alice, time: time)
                : b.seal(body: Message.textBody(text), from: bob, time: time)
            let sent = try MessageFlowMessage(
                id: envelope.id, from: sender.id.description, to: reader.id.description,
                content: MessageFlowContent(payload: envelope.payload), time: time)
            let read = try MessageFlowMessage(
                record: JSON.object(parsing: sent.record().serialized()))
            let carried = Envelope(
                id: read.id, suite: .ratchet, to: KeyID(read.to),
                from: sender.id, time: read.time, payload: read.content.payload)
            let opened = try index.isMultiple(of: 2) ? b.open(carried) : a.open(carried)
            #expect(opened.body == Message.textBody(text))
        }
    }

    /// Lines of JSON over a connection that may not use TLS.
    @Test func r16NothingReliesOnTheConnection() throws {
        let text = "the eagle lands at nine"
        var (a, b) = try sessions()
        let envelope = try a.seal(body: Message.textBody(text), from: alice, time: time)
        let record = envelope.record
        // An eavesdropper sees neither the text nor its length.
        let line = String(decoding: record.serialized(), as: UTF8.self)
        for seen in [text, Base64.standard.encode(Array(text.utf8)), hex(Array(text.utf8))] {
            #expect(!line.contains(seen.dropLast(4)))
        }
        let other = try a.seal(body: Message.textBody("no"), from: alice, time: time)
        #expect(other.record.serialized().count == record.serialized().count)
        // A line feed in a text is not a line feed in the line.
        let feed = try a.seal(body: Message.textBody("a\nb"), from: alice, time: time)
        #expect(!feed.record.serialized().contains(0x0A))
        // A change of an outer field is detected.
        let before = b.encoded()
        for forged in [
            Envelope(
                id: Envelope.newID(), suite: .ratchet, to: bob.id, from: alice.id, time: time,
                payload: envelope.payload),
            Envelope(
                id: envelope.id, suite: .ratchet, to: alice.id, from: alice.id, time: time,
                payload: envelope.payload),
            Envelope(
                id: envelope.id, suite: .ratchet, to: bob.id, from: alice.id,
                time: Timestamp(seconds: time.seconds + 1), payload: envelope.payload),
        ] {
            #expect(throws: RatchetError.authentication) { try b.open(forged) }
            #expect(b.encoded() == before)
        }
        #expect(try b.open(Envelope(record: record)).body == Message.textBody(text))
    }
}
