import TestSupport
import Testing

@testable import Sotto

/// Properties of two sessions under any network behaviour.
struct RatchetSessionTests {
    let alice: Identity
    let bob: Identity

    init() {
        alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
        bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
    }

    /// Returns two sessions after PQXDH with all keys.
    func sessions() throws -> (alice: Session, bob: Session) {
        let (signed, oneTime) = (RatchetKeyPair(), RatchetKeyPair())
        let kem = SecretPreKey(.postQuantum, id: 1)
        let bundle = try PreKeyBundle(
            identityKey: bob.id.publicKey,
            signedPreKey: .init(
                id: 1, key: signed.publicKey, signature: bob.signingKey.sign(signed.publicKey)),
            pqSignedPreKey: kem.signed(by: bob, at: Timestamp.now()),
            oneTimePreKey: .init(id: 7, key: oneTime.publicKey))
        let (agreement, header) = try KeyAgreement.initiate(alice, bundle)
        let theirs = try KeyAgreement.respond(
            bob, header, signed: signed, oneTime: oneTime, kemKey: kem.kemKey)
        #expect(agreement.secret.copyBytes() == theirs.secret.copyBytes())
        return (
            Session(initiatorWith: agreement, theirSignedPreKey: signed.publicKey),
            Session(responderWith: theirs, signedPreKey: signed)
        )
    }

    @Test func theResponderCannotSendFirst() throws {
        var (_, bob) = try sessions()
        #expect(throws: RatchetError.cannotSendYet) { try bob.encrypt([1]) }
    }

    @Test func messagesArriveThroughLossDuplicationReorderingAndTampering() throws {
        try withGenerator { random in try exchange(&random) }
    }

    /// Messages wait at one relay while killed programs leave gaps in the chains that another relay delivers.
    @Test func aDelayedMessageOpensAfterManyGapsAndChains() throws {
        var (alice, bob) = try sessions()
        let delayed = try (0..<3).map { try alice.encrypt([UInt8($0)]) }
        var displaced: [Session.SkippedKey] = []
        for turn in 0..<100 {
            // The number of the message that arrives is 64: its `kem` begins the chain.
            for _ in 0..<(turn == 0 ? 61 : 64) { _ = try alice.encrypt([0]) }
            #expect(try bob.decrypt(alice.encrypt([7])) == [7])
            displaced += bob.displaced
            #expect(try alice.decrypt(bob.encrypt([8])) == [8])
            #expect(bob.displaced.count <= 64)
        }
        #expect(bob.skipped.count == Session.maximumStored)
        #expect(displaced.count == 100 * 64 - Session.maximumStored)
        for (number, message) in delayed.enumerated() {
            #expect(throws: RatchetError.self) { try bob.decrypt(message) }
            let key = try #require(
                displaced.first {
                    $0.publicKey == message.position.key && $0.number == message.position.number
                })
            #expect(try message.open(with: key.key, bob.associatedData) == [UInt8(number)])
        }
    }

    /// The next chain begins before the end of the previous one arrives. None of its messages is lost.
    @Test func aLongEndOfAChainOpensAfterTheNextChainBegan() throws {
        var (alice, bob) = try sessions()
        #expect(try bob.decrypt(alice.encrypt([9])) == [9])
        let end = try (0..<1_000).map { try alice.encrypt([UInt8($0 % 250)]) }
        #expect(try alice.decrypt(bob.encrypt([8])) == [8])
        #expect(try bob.decrypt(alice.encrypt([7])) == [7])
        #expect(bob.unfinished.count == 1 && bob.skipped.isEmpty)
        #expect(bob.next.map(\.number) == [1, 1])
        // A stored copy continues in the same way.
        bob = try #require(Session(encoded: bob.encoded()[...]))
        let before = bob.fingerprint
        #expect(throws: RatchetError.tooManySkipped) { try bob.decrypt(end[400]) }
        #expect(bob.fingerprint == before)
        for number in [200, 450, 700] {
            #expect(try bob.decrypt(end[number]) == [UInt8(number % 250)])
        }
        #expect(bob.next.map(\.number) == [702, 1])
        // The remaining messages fit the limit of skipped keys, and the chain ends.
        #expect(try bob.decrypt(end[800]) == [UInt8(800 % 250)])
        #expect(bob.unfinished.isEmpty)
        bob = try #require(Session(encoded: bob.encoded()[...]))
        #expect(try bob.decrypt(end[999]) == [UInt8(999 % 250)])
        for number in [200, 450, 700, 800, 999] {
            #expect(throws: RatchetError.self) { try bob.decrypt(end[number]) }
        }
        #expect(try bob.decrypt(alice.encrypt([6])) == [6])
    }

    @Test func unfinishedChainsAreBounded() throws {
        var (alice, bob) = try sessions()
        #expect(try bob.decrypt(alice.encrypt([9])) == [9])
        var firsts: [RatchetMessage] = []
        for turn in 0..<(Session.maximumUnfinished + 2) {
            firsts.append(try alice.encrypt([UInt8(turn)]))
            for _ in 0..<300 { _ = try alice.encrypt([0]) }
            #expect(try alice.decrypt(bob.encrypt([8])) == [8])
            #expect(try bob.decrypt(alice.encrypt([7])) == [7])
        }
        #expect(bob.unfinished.count == Session.maximumUnfinished)
        for message in firsts[..<2] {
            #expect(throws: RatchetError.self) { try bob.decrypt(message) }
        }
        for (turn, message) in firsts.enumerated().dropFirst(2) {
            #expect(try bob.decrypt(message) == [UInt8(turn)])
        }
    }

    private func exchange(_ random: inout Generator) throws {
        var (alice, bob) = try sessions()
        var toBob: [(message: RatchetMessage, text: [UInt8])] = []
        var toAlice: [(message: RatchetMessage, text: [UInt8])] = []
        var lost = 0
        for step in 0..<1000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                let text = Array("alice \(step)".utf8)
                toBob.append((try alice.encrypt(text), text))
            case 3, 4:
                guard bob.receiving != nil else { continue }
                let text = Array("bob \(step)".utf8)
                toAlice.append((try bob.encrypt(text), text))
            case 5:
                guard let (message, text) = Self.take(&toBob, &random) else { continue }
                // At least one message is lost, whatever the random numbers are.
                if step > 500 && lost == 0 || Int.random(in: 0..<20, using: &random) == 0 {
                    lost += 1
                    continue
                }
                if try !Self.deliver(message, text, to: &bob, &random) {
                    toBob.append((message, text))
                }
            case 6:
                guard let (message, text) = Self.take(&toAlice, &random) else { continue }
                if try !Self.deliver(message, text, to: &alice, &random) {
                    toAlice.append((message, text))
                }
            default:
                // All in order, so that the queues stay within the skip limit.
                try toBob.removeAll { try Self.deliver($0.message, $0.text, to: &bob, &random) }
                try toAlice.removeAll { try Self.deliver($0.message, $0.text, to: &alice, &random) }
            }
        }
        #expect(lost > 0)
    }

    private static func take(
        _ queue: inout [(message: RatchetMessage, text: [UInt8])], _ random: inout Generator
    ) -> (RatchetMessage, [UInt8])? {
        guard !queue.isEmpty else { return nil }
        return queue.remove(at: Int.random(in: 0..<queue.count, using: &random))
    }

    /// Delivers forgeries of a message, the message, and its repeat. Only the message changes the session. Returns `false`
    /// for a message that waits for the `kem` of its chain.
    private static func deliver(
        _ message: RatchetMessage, _ text: [UInt8], to session: inout Session,
        _ random: inout Generator
    ) throws -> Bool {
        var before = session.fingerprint
        for forged in forgeries(of: message, &random) {
            #expect(throws: RatchetError.self) { try session.decrypt(forged) }
            #expect(session.fingerprint == before)
        }
        do {
            #expect(try session.decrypt(message) == text)
        } catch RatchetError.missingKEM {
            #expect(session.fingerprint == before)
            return false
        }
        before = session.fingerprint
        #expect(throws: RatchetError.self) { try session.decrypt(message) }
        #expect(session.fingerprint == before)
        return true
    }

    private static func forgeries(
        of message: RatchetMessage, _ random: inout Generator
    ) -> [RatchetMessage] {
        let header = message.header
        var combined = message.combined
        combined[Int.random(in: 0..<combined.count, using: &random)] ^= 1
        func with(
            key: [UInt8]? = nil, number: UInt32? = nil, previous: UInt32? = nil
        ) -> RatchetMessage {
            RatchetMessage(
                header: RatchetHeader(
                    publicKey: key ?? header.publicKey, number: number ?? header.number,
                    previousLength: previous ?? header.previousLength),
                combined: message.combined, kem: message.kem)
        }
        return [
            RatchetMessage(header: header, combined: combined, kem: message.kem),
            with(number: header.number + 1), with(number: 1 << 30),
            with(previous: header.previousLength + 1), with(previous: 1 << 30),
            with(key: RatchetKeyPair().publicKey), with(key: [UInt8](repeating: 0, count: 32)),
        ]
    }

    @Test func theKeysOfSkippedMessagesAreBoundedAndTheOldestAreDisplaced() throws {
        var (alice, bob) = try sessions()
        #expect(try bob.decrypt(try alice.encrypt([0])) == [0])
        let first = try (0..<Session.maximumSkip).map { _ in try alice.encrypt([1]) }
        #expect(try bob.decrypt(try alice.encrypt([2])) == [2])
        #expect(bob.skipped.count == Session.maximumStored && bob.displaced.isEmpty)
        #expect(try bob.decrypt(first[1]) == [1])
        _ = try alice.encrypt([3])
        _ = try alice.encrypt([3])
        #expect(try bob.decrypt(try alice.encrypt([4])) == [4])
        #expect(bob.skipped.count == Session.maximumStored)
        #expect(bob.displaced.map(\.number) == [first[0].header.number])
        #expect(throws: RatchetError.noKey) { try bob.decrypt(first[0]) }
        #expect(try bob.decrypt(first[2]) == [1])
        #expect(bob.displaced.isEmpty)
    }

    @Test func aKeyOfLowOrderIsRefused() throws {
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        let pair = RatchetPair(.hybrid)
        let kem = JSON.object(
            RatchetKEM(key: try #require(pair.publicKey.kem), ciphertext: nil).object)
        for key in [[UInt8](repeating: 0, count: 32), one] {
            #expect(RatchetKeyPair().sharedSecret(key) == nil)
            let (_, bob) = try sessions()
            var copy = bob
            #expect(throws: RatchetError.lowOrderKey) {
                try copy.decrypt(
                    RatchetMessage(
                        header: RatchetHeader(publicKey: key, number: 0, previousLength: 0),
                        combined: [UInt8](repeating: 0, count: 28), kem: kem))
            }
            #expect(copy.fingerprint == bob.fingerprint)
        }
    }

    @Test func aMessageOfAnotherConversationIsRefused() throws {
        var (alice, _) = try sessions()
        var (_, other) = try sessions()
        let before = other.fingerprint
        #expect(throws: RatchetError.authentication) { try other.decrypt(try alice.encrypt([1])) }
        #expect(other.fingerprint == before)
    }

    @Test func payloadsAreStrict() throws {
        var (alice, _) = try sessions()
        let message = try alice.encrypt([1, 2, 3])
        #expect(try RatchetMessage(payload: message.payload) == message)
        for (name, value) in [
            ("chainLength", JSON.integer(0)), ("chainLength", .integer(1 << 31 + 1)),
            ("previousChainLength", .integer(-1)), ("ratchetPublicKey", .string("AAAA")),
            ("ciphertext", .string("AAAA")), ("ciphertext", .null),
        ] {
            var payload = message.payload
            payload[name] = value
            #expect(throws: RatchetError.payload) { try RatchetMessage(payload: payload) }
        }
    }
}
