import TestSupport
import Testing

@testable import Sotto

/// Two sessions of one kind, with or without a network between them.
struct RatchetPeers {
    var alice: Session
    var bob: Session

    init(_ kind: RatchetKind) throws {
        let secret = RatchetSecret.random()
        let agreement = KeyAgreement(
            secret: secret, associatedData: [UInt8](repeating: 7, count: 64), kind: kind)
        let signed = RatchetKeyPair()
        alice = Session(initiatorWith: agreement, theirSignedPreKey: signed.publicKey)
        bob = Session(responderWith: agreement, signedPreKey: signed)
    }

    subscript(isAlice: Bool) -> Session {
        get { isAlice ? alice : bob }
        set { if isAlice { alice = newValue } else { bob = newValue } }
    }

    /// Returns the X25519 pair of the side that sent last.
    func pair(ofAlice isAlice: Bool) throws -> RatchetKeyPair {
        guard case .sent(let chain) = self[isAlice].turn else { throw RatchetError.cannotSendYet }
        return chain.pair.x25519
    }

    /// Sends a message of one side, which the other reads.
    @discardableResult
    mutating func exchange(fromAlice: Bool) throws -> RatchetMessage {
        let message = try self[fromAlice].encrypt([1])
        #expect(try self[!fromAlice].decrypt(message) == [1])
        return message
    }
}

struct HybridSessionTests {
    // MARK: Sending

    @Test func kemIsInTheMessagesOfItsNumbers() throws {
        var peers = try RatchetPeers(.hybrid)
        let numbers = try (0..<201).filter { _ in try peers.alice.encrypt([1]).kem != nil }
        #expect(numbers == [0, 1, 2, 4, 8, 16, 32, 64, 128, 192])
        var classical = try RatchetPeers(.classical)
        #expect(try (0..<70).allSatisfy { _ in try classical.alice.encrypt([1]).kem == nil })
    }

    /// A reader needs `kem` in one message of a chain, whichever it is.
    @Test func anyMessageWithKEMBeginsTheChain() throws {
        for number in [0, 3, 5, 100, 256, 257] {
            var peers = try RatchetPeers(.hybrid)
            let sent = try (0...number).map { _ in try peers.alice.encrypt([1]) }
            let message = RatchetMessage(
                header: sent[number].header, combined: sent[number].combined, kem: sent[0].kem)
            if number > Session.maximumSkip {
                #expect(throws: RatchetError.tooManySkipped) { try peers.bob.decrypt(message) }
            } else {
                #expect(try peers.bob.decrypt(message) == [1])
            }
        }
    }

    /// A session that has read and not answered has no secret key of the ratchet.
    @Test(arguments: [RatchetKind.hybrid, .classical])
    func aSessionHasNoPairBetweenReadingAndSending(_ kind: RatchetKind) throws {
        var peers = try RatchetPeers(kind)
        try peers.exchange(fromAlice: true)
        for isAlice in [false, true, false, true] {
            try peers.exchange(fromAlice: isAlice)
            guard case .sent(let chain) = peers[isAlice].turn else {
                Issue.record("no chain")
                return
            }
            try peers.exchange(fromAlice: !isAlice)
            let stored = peers[isAlice].encoded()
            var old = [
                chain.pair.x25519.secret.copyBytes(), chain.key.secret.copyBytes(),
            ]
            old += (chain.pair.kem?.copySeed()).map { [$0] } ?? []
            #expect(old.count == (kind == .hybrid ? 3 : 2))
            for secret in old { #expect(stored.firstRange(of: secret) == nil) }
            // The peer cannot have answered a pair that does not exist: neither waits.
            let unknown = RatchetPair(kind)
            let header = RatchetHeader(
                publicKey: unknown.x25519.publicKey, number: 0, previousLength: 0)
            let kem = JSON.object(
                RatchetKEM(
                    key: unknown.publicKey.kem ?? [],
                    ciphertext: [UInt8](repeating: 0, count: MLKEM.ciphertextBytes768)
                ).object)
            for kem in [nil, kem] {
                let forged = RatchetMessage(
                    header: header, combined: [UInt8](repeating: 0, count: 40), kem: kem)
                #expect(throws: RatchetError.authentication) {
                    try peers[isAlice].decrypt(forged)
                }
            }
            #expect(peers[isAlice].encoded() == stored)
            try peers.exchange(fromAlice: isAlice)
        }
    }

    /// The stored form has 1,152 bytes more than a classical one after sending, and 1,184 after reading.
    @Test func theStoredFormHasItsLength() throws {
        var (hybrid, classical) = (try RatchetPeers(.hybrid), try RatchetPeers(.classical))
        for isAlice in [true, false, true, false, true] {
            try hybrid.exchange(fromAlice: isAlice)
            try classical.exchange(fromAlice: isAlice)
        }
        func difference(_ isAlice: Bool) -> Int {
            hybrid[isAlice].encoded().count - classical[isAlice].encoded().count
        }
        #expect(difference(true) == 64 + 1_088 && difference(false) == 1_184)
    }

    // MARK: Schedules

    @Test(arguments: [RatchetKind.hybrid, .classical])
    func schedulesOfLossDuplicationReorderingAndTampering(_ kind: RatchetKind) throws {
        try withGenerator { random in
            var waited = 0
            for _ in 0..<1_000 {
                var schedule = try Schedule(kind)
                try schedule.run(&random)
                waited += schedule.waited
            }
            #expect((waited > 0) == (kind == .hybrid), random.comment)
        }
    }

    // MARK: A thief

    /// A thief copies the complete state of one side at some moment and computes all X25519 secrets from then on. It reads
    /// the chains that the state can open, and at most one chain with which the peer answers the last chain of the victim.
    @Test func aHybridSessionHealsInOneRoundTrip() throws {
        for moment in 1..<8 {
            for isAlice in [true, false] {
                let opened = try Thief.turns(openedAfter: moment, .hybrid, ofAlice: isAlice)
                // The victim's last chain was not answered if it sent last; the peer's answer opens then.
                let isSender = moment.isMultiple(of: 2) != isAlice
                #expect(
                    opened == [true, isSender] + [Bool](repeating: false, count: 7),
                    "\(moment) \(isAlice)")
            }
        }
    }

    /// The same thief reads all of a classical session.
    @Test func aClassicalSessionDoesNotHeal() throws {
        for moment in 1..<8 {
            for isAlice in [true, false] {
                let opened = try Thief.turns(openedAfter: moment, .classical, ofAlice: isAlice)
                #expect(opened.allSatisfy { $0 }, "\(moment) \(isAlice): \(opened)")
            }
        }
    }
}

/// A random schedule of messages between two sessions.
private struct Schedule {
    private struct Sent {
        let message: RatchetMessage
        let text: [UInt8]
        let isToAlice: Bool

        var chain: [UInt8] { message.header.publicKey }
    }

    private let kind: RatchetKind
    private var peers: RatchetPeers
    private var opened: [RatchetMessage] = []
    private var onTheWay: [Sent] = []
    private var waiting: [Sent] = []
    /// The chains of which a message with `kem` was delivered.
    private var begun: Set<[UInt8]> = []
    private(set) var waited = 0

    init(_ kind: RatchetKind) throws {
        self.kind = kind
        peers = try RatchetPeers(kind)
    }

    mutating func run(_ random: inout Generator) throws {
        for step in 0..<24 {
            if random.int(0..<2) == 0 || onTheWay.isEmpty {
                let isAlice = peers.bob.receiving == nil || random.int(0..<2) == 0
                let text = Array("\(step)".utf8)
                let message = try peers[isAlice].encrypt(text)
                // A fifth of the messages is lost.
                guard random.int(0..<5) > 0 else { continue }
                let sent = Sent(message: message, text: text, isToAlice: !isAlice)
                onTheWay += random.int(0..<10) == 0 ? [sent, sent] : [sent]
            } else {
                try deliver(onTheWay.remove(at: random.int(0..<onTheWay.count)), &random)
            }
        }
        while !onTheWay.isEmpty {
            try deliver(onTheWay.remove(at: random.int(0..<onTheWay.count)), &random)
        }
        for sent in waiting {
            #expect(!begun.contains(sent.message.header.publicKey), random.comment)
        }
    }

    private mutating func deliver(_ sent: Sent, _ random: inout Generator) throws {
        let isFirst = !opened.contains(where: { $0 == sent.message })
        if random.int(0..<10) == 0 { try refuse(tampered(sent, &random), sent, random.comment) }
        guard isFirst else { return try refuse(sent.message, sent, random.comment) }
        guard kind == .classical || sent.message.kem != nil || begun.contains(sent.chain) else {
            #expect(throws: RatchetError.missingKEM, random.comment) {
                try peers[sent.isToAlice].decrypt(sent.message)
            }
            if !waiting.contains(where: { $0.message == sent.message }) { waiting.append(sent) }
            waited += 1
            return
        }
        begun.insert(sent.chain)
        try open(sent, random.comment)
        for later in waiting where later.chain == sent.chain { try open(later, random.comment) }
        waiting.removeAll { $0.chain == sent.chain }
    }

    private mutating func open(_ sent: Sent, _ comment: Comment) throws {
        #expect(try peers[sent.isToAlice].decrypt(sent.message) == sent.text, comment)
        opened.append(sent.message)
        let bytes = peers[sent.isToAlice].encoded()
        peers[sent.isToAlice] = try #require(Session(encoded: bytes[...]))
    }

    private func refuse(_ message: RatchetMessage, _ sent: Sent, _ comment: Comment) throws {
        var session = peers[sent.isToAlice]
        let before = session.encoded()
        #expect(throws: RatchetError.self, comment) { try session.decrypt(message) }
        #expect(session.encoded() == before, comment)
    }

    /// Returns a message that a relay has changed. `kem` is changed only if the reader needs it.
    private func tampered(_ sent: Sent, _ random: inout Generator) throws -> RatchetMessage {
        let (message, header) = (sent.message, sent.message.header)
        func with(
            key: [UInt8]? = nil, number: UInt32? = nil, previous: UInt32? = nil,
            combined: [UInt8]? = nil, kem: JSON?
        ) -> RatchetMessage {
            RatchetMessage(
                header: RatchetHeader(
                    publicKey: key ?? header.publicKey, number: number ?? header.number,
                    previousLength: previous ?? header.previousLength),
                combined: combined ?? message.combined, kem: kem)
        }
        let needsKEM = kind == .hybrid && !begun.contains(sent.chain)
        switch random.int(0..<7) {
        case 0: return with(number: header.number + 1, kem: message.kem)
        case 1: return with(previous: header.previousLength + 1, kem: message.kem)
        case 2:
            return with(key: header.publicKey.flipping(bit: random.int(0..<256)), kem: message.kem)
        case 3 where needsKEM: return with(kem: nil)
        case 4 where needsKEM, 5 where needsKEM:
            guard let member = message.kem else { break }
            let isAnswer = member.object?["ciphertext"] != nil
            let kem = try RatchetKEM(member, hasCiphertext: isAnswer)
            let changed =
                if let ciphertext = kem.ciphertext, random.int(0..<2) == 0 {
                    RatchetKEM(
                        key: kem.key,
                        ciphertext: ciphertext.flipping(
                            bit: random.int(0..<ciphertext.count * 8)))
                } else {
                    RatchetKEM(
                        key: kem.key.flipping(bit: random.int(0..<kem.key.count * 8)),
                        ciphertext: kem.ciphertext)
                }
            return with(kem: .object(changed.object))
        default: break
        }
        let bit = random.int(0..<message.combined.count * 8)
        return with(combined: message.combined.flipping(bit: bit), kem: message.kem)
    }
}

/// A thief who copied the stored state of one side and computes each X25519 secret of both sides from then on.
private struct Thief {
    private let kind: RatchetKind
    private var root: RootKey?
    /// The ML-KEM-768 key in the stolen state.
    private let kem: KEMKey?

    private init(_ state: [UInt8]) throws {
        let session = try #require(Session(encoded: state[...]))
        kind = session.kind
        root = session.root
        if case .sent(let chain) = session.turn { kem = chain.pair.kem } else { kem = nil }
    }

    /// Tries to open the first message of a chain. Without success the thief loses the root key.
    private mutating func opens(
        _ message: RatchetMessage, by sender: RatchetKeyPair, answering receiver: [UInt8],
        _ associatedData: [UInt8]
    ) throws -> Bool {
        guard let root, let exchange = sender.sharedSecret(receiver) else { return false }
        let sent = try message.kem.map { try RatchetKEM($0, hasCiphertext: true) }
        let next = root.step(
            exchange, sent?.ciphertext.flatMap { kem?.decapsulate($0) },
            StepTranscript(
                kind: kind, sender: RatchetPublicKey(x25519: sender.publicKey, kem: sent?.key),
                receiver: receiver, ciphertext: sent?.ciphertext))
        let text = try? message.open(with: next.chain.step().message, associatedData)
        self.root = text == nil ? nil : next.root
        return text != nil
    }

    /// Lets two sessions take turns of one message, and copies the state of one side after `moment` turns. Returns
    /// whether the thief opens the next message of the chain of that moment, and then each turn.
    static func turns(
        openedAfter moment: Int, _ kind: RatchetKind, ofAlice isAlice: Bool
    ) throws -> [Bool] {
        var peers = try RatchetPeers(kind)
        for turn in 0..<moment { try peers.exchange(fromAlice: turn.isMultiple(of: 2)) }
        let state = peers[isAlice].encoded()
        var thief = try Thief(state)
        let isLast = !moment.isMultiple(of: 2)
        var copy = try #require(Session(encoded: state[...]))
        let next = try peers.exchange(fromAlice: isLast)
        var opened = [
            isLast == isAlice
                ? try next.open(with: copy.nextPlace().key, copy.associatedData) == [1]
                : try copy.decrypt(next) == [1]
        ]
        for turn in moment..<moment + 8 {
            let isSender = turn.isMultiple(of: 2)
            let answered = try peers.pair(ofAlice: !isSender)
            let message = try peers.exchange(fromAlice: isSender)
            opened.append(
                try thief.opens(
                    message, by: peers.pair(ofAlice: isSender), answering: answered.publicKey,
                    copy.associatedData))
        }
        return opened
    }
}
