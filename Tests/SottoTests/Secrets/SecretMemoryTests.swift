import CTestSupport
import Glibc
import SottoProgram
import TestSupport
import Testing

@testable import Sotto

/// Searches the memory of a process for the secrets that its last step replaced. The process takes its keys from a known
/// random source, so that this test computes them too.
struct SecretMemoryTests {
    let peer = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "peer")
    let time = Timestamp(seconds: 1_800_000_000)

    /// Secrets that must be gone, and secrets that the process still uses.
    private struct Secrets {
        var old: [(name: String, bytes: [UInt8])] = []
        var current: [(name: String, bytes: [UInt8])] = []

        /// Adds a chain of which the first `count` messages were sent. Returns the next chain key.
        @discardableResult
        mutating func addChain(_ name: String, _ key: ChainKey, count: Int) -> ChainKey {
            var key = key
            for number in 0..<count {
                let (message, next) = key.step()
                old.append(("chain key \(number) \(name)", key.secret.copyBytes()))
                // Without instructions for AES, swift-crypto leaves the key schedule: see SECURITY.md.
                if AESGCM.wipesKey(0) {
                    old.append(("message key \(number) \(name)", message.secret.copyBytes()))
                }
                key = next
            }
            return key
        }

        mutating func add(_ agreement: KeyAgreement, _ exchanges: [RatchetSecret]) {
            old.append(("SK", agreement.secret.copyBytes()))
            for (number, exchange) in exchanges.enumerated() {
                old.append(("DH\(number + 1)", exchange.copyBytes()))
            }
        }

        /// Takes the step of a chain. Adds the DH output.
        mutating func step(
            _ root: RootKey, _ pair: RatchetKeyPair, _ key: [UInt8], _ shared: RatchetSecret?,
            _ transcript: StepTranscript
        ) throws -> (root: RootKey, chain: ChainKey) {
            let exchange = try #require(pair.sharedSecret(key))
            old.append(("DH output", exchange.copyBytes()))
            return root.step(exchange, shared, transcript)
        }

        /// Adds an ML-KEM seed. SECURITY.md names what swift-crypto keeps: its second half.
        mutating func add(seed: [UInt8], _ name: String, isCurrent: Bool = false) {
            if isCurrent {
                current.append((name, Array(seed[..<32])))
            } else {
                old.append((name, Array(seed[..<32])))
            }
        }

        /// Expects that the old secrets are not in the process, or that one is if it leaks.
        func check(_ probe: SecretProbeProcess, leaks: Bool) {
            let memory = probe.memory
            let found = old.filter { memory.contains(secret: $0.bytes) }.map(\.name)
            #expect(found.isEmpty != leaks, "\(found)")
            for (name, bytes) in current { #expect(memory.contains(secret: bytes), "\(name)") }
        }
    }

    private func drawnPair(_ number: Int) -> RatchetKeyPair {
        RatchetKeyPair(secret: RatchetSecret(SeededRandom.draw(number)))
    }

    private func exchange(_ pair: RatchetKeyPair, _ key: [UInt8]) throws -> RatchetSecret {
        try #require(pair.sharedSecret(key))
    }

    private func agreementKey(_ identity: [UInt8]) throws -> [UInt8] {
        try #require(x25519PublicKey(fromEd25519: identity))
    }

    /// Returns the public values of the chain that begins with a message and answers a key.
    private func transcript(
        _ envelope: Envelope, answering receiver: [UInt8]
    ) throws -> StepTranscript {
        let message = try RatchetMessage(payload: envelope.payload)
        let kem = try message.kem.map {
            try RatchetKEM($0, hasCiphertext: $0.object?["ciphertext"] != nil)
        }
        return StepTranscript(
            kind: kem == nil ? .classical : .hybrid,
            sender: RatchetPublicKey(x25519: message.header.publicKey, kem: kem?.key),
            receiver: receiver, ciphertext: kem?.ciphertext)
    }

    /// Returns the pair with which a session sent its last message.
    private func sendingPair(_ session: PeerSession) throws -> RatchetPair {
        guard case .sent(let chain) = session.session.turn else {
            throw RatchetError.cannotSendYet
        }
        return chain.pair
    }

    /// Returns the shared secret in the ciphertext of a step, or `nil` without one.
    private func shared(_ transcript: StepTranscript, _ kem: KEMKey?) throws -> RatchetSecret? {
        try transcript.ciphertext.map { try #require(kem?.decapsulate($0)) }
    }

    /// X3DH or PQXDH, three messages, and the steps with which the initiator reads an answer and answers it.
    @Test(arguments: [(true, false), (false, false), (true, true)])
    func anInitiatorKeepsNoOldSecret(isPostQuantum: Bool, leaks: Bool) throws {
        let probe = try SecretProbeProcess("initiator", leaks: leaks)
        let signed = SecretPreKey(.signed, id: 1)
        let postQuantum = SecretPreKey(.postQuantum, id: 2)
        let oneTime = SecretPreKey(.oneTime, id: 3)
        let owner = Identity(
            seed: SecretBytes(copying: SeededRandom.draw(0)), name: "probe")
        #expect(try probe.next()["id"]?.string == owner.id.description)
        let bundle = try PreKeyPublication(
            by: peer, signedPreKey: signed.signed(by: peer, at: time),
            pqSignedPreKey: isPostQuantum ? postQuantum.signed(by: peer, at: time) : nil,
            oneTimePreKeys: [oneTime.publicHalf]
        ).bundle(oneTime: oneTime.publicHalf)
        try probe.send(bundle.record)
        let sent = try (0..<3).map { _ in try Envelope(record: probe.next()) }
        let header = try #require(try PeerSession.preKeyHeader(in: sent[0]))
        var session = try PeerSession(
            by: peer, accepting: header,
            with: .init(
                signed: signed, postQuantum: isPostQuantum ? postQuantum : nil, oneTime: oneTime))
        for envelope in sent { _ = try session.open(envelope) }
        let answer = try session.seal(body: Message.textBody("yes"), from: peer, time: time)
        let pair = try sendingPair(session)
        try probe.send(answer.record)
        let reply = try Envelope(record: probe.next())

        var secrets = Secrets()
        let (ephemeral, first) = (drawnPair(1), drawnPair(2))
        let second = drawnPair(3)
        let seeds = (0..<2).map { SeededRandom.draw($0, count: KEMKey.seedBytes) }
        let theirs = try agreementKey(peer.id.publicKey)
        let exchanges = [
            try exchange(owner.agreementPair(), signed.publicHalf.key),
            try exchange(ephemeral, theirs), try exchange(ephemeral, signed.publicHalf.key),
            try exchange(ephemeral, oneTime.publicHalf.key),
        ]
        let sharedSecret = try header.kem.map {
            try #require(postQuantum.kemKey?.decapsulate($0.ciphertext))
        }
        let agreement = KeyAgreement(
            exchanges: exchanges, sharedSecret: sharedSecret, initiator: owner.id.publicKey,
            responder: peer.id.publicKey)
        secrets.add(agreement, exchanges)
        secrets.old.append(("ephemeral key", SeededRandom.draw(1)))
        secrets.old.append(("first ratchet key", SeededRandom.draw(2)))
        if let sharedSecret { secrets.old.append(("SS", sharedSecret.copyBytes())) }
        let begun = try secrets.step(
            RootKey(secret: agreement.secret), first, signed.publicHalf.key, nil,
            transcript(sent[0], answering: signed.publicHalf.key))
        let last = secrets.addChain("sent", begun.chain, count: 3)
        secrets.old.append(("last chain key", last.secret.copyBytes()))
        secrets.old.append(("root key 1", begun.root.secret.copyBytes()))
        let read = try transcript(answer, answering: first.publicKey)
        let received = try secrets.step(
            begun.root, first, read.sender.x25519,
            shared(read, KEMKey(.mlkem768, seed: seeds[0])), read)
        secrets.old.append(("root key 2", received.root.secret.copyBytes()))
        secrets.addChain("received", received.chain, count: 1)
        let written = try transcript(reply, answering: read.sender.x25519)
        let answered = try secrets.step(
            received.root, second, read.sender.x25519, shared(written, pair.kem), written)
        let next = secrets.addChain("answered", answered.chain, count: 1)
        secrets.current = [
            ("root key", answered.root.secret.copyBytes()), ("chain key", next.secret.copyBytes()),
        ]
        if isPostQuantum {
            #expect(written.sender.kem == KEMKey(.mlkem768, seed: seeds[1])?.publicKey)
            secrets.add(seed: seeds[0], "first ML-KEM seed")
            secrets.add(seed: seeds[1], "second ML-KEM seed", isCurrent: true)
            // The peer's half of the last step: the probe encapsulated this secret.
            if let shared = try shared(written, pair.kem) {
                secrets.old.append(("SS of the last step", shared.copyBytes()))
            }
        }
        secrets.check(probe, leaks: leaks)
    }

    /// PQXDH with an ML-KEM decapsulation, a message and a DH ratchet step of the responder.
    @Test(arguments: [false, true])
    func aResponderKeepsNoOldSecret(leaks: Bool) throws {
        let probe = try SecretProbeProcess("responder", leaks: leaks)
        let owner = Identity(
            seed: SecretBytes(copying: SeededRandom.draw(0)), name: "probe")
        let (signed, oneTime, next) = (drawnPair(1), drawnPair(2), drawnPair(3))
        let seeds = (0..<2).map { SeededRandom.draw($0, count: KEMKey.seedBytes) }
        let bundle = try PreKeyBundle(record: probe.next())
        var session = try PeerSession(by: peer, with: bundle)
        let first = try session.seal(body: Message.textBody("hello"), from: peer, time: time)
        let pair = try sendingPair(session)
        try probe.send(first.record)
        let answer = try Envelope(record: probe.next())
        _ = try session.open(answer)

        var secrets = Secrets()
        let header = try #require(try PeerSession.preKeyHeader(in: first))
        let theirs = try agreementKey(peer.id.publicKey)
        let exchanges = [
            try exchange(signed, theirs),
            try exchange(owner.agreementPair(), header.ephemeralKey),
            try exchange(signed, header.ephemeralKey), try exchange(oneTime, header.ephemeralKey),
        ]
        let kem = try #require(header.kem)
        let agreement = KeyAgreement(
            exchanges: exchanges,
            sharedSecret: try #require(
                KEMKey(.mlkem1024, seed: seeds[0])?.decapsulate(kem.ciphertext)),
            initiator: peer.id.publicKey, responder: owner.id.publicKey)
        secrets.add(agreement, exchanges)
        secrets.old.append(("signed prekey", SeededRandom.draw(1)))
        secrets.old.append(("one-time prekey", SeededRandom.draw(2)))
        // SECURITY.md names what swift-crypto keeps: the secret that a decapsulation gives.
        secrets.add(seed: seeds[0], "ML-KEM seed of the prekey")
        let read = try transcript(first, answering: signed.publicKey)
        let received = try secrets.step(
            RootKey(secret: agreement.secret), signed, read.sender.x25519, nil, read)
        secrets.old.append(("root key 1", received.root.secret.copyBytes()))
        secrets.addChain("received", received.chain, count: 1)
        let written = try transcript(answer, answering: read.sender.x25519)
        let shared = try #require(try shared(written, pair.kem))
        secrets.old.append(("SS of the answer", shared.copyBytes()))
        let sent = try secrets.step(
            received.root, next, read.sender.x25519, shared, written)
        let key = secrets.addChain("sent", sent.chain, count: 1)
        secrets.current = [
            ("root key", sent.root.secret.copyBytes()), ("chain key", key.secret.copyBytes()),
        ]
        secrets.add(seed: seeds[1], "ML-KEM seed", isCurrent: true)
        secrets.check(probe, leaks: leaks)
    }

    @Test(arguments: [false, true])
    func aGroupChainKeepsNoOldSecret(leaks: Bool) throws {
        let probe = try SecretProbeProcess("group", leaks: leaks)
        _ = try probe.next()
        var secrets = Secrets()
        let next = secrets.addChain(
            "group", ChainKey(secret: RatchetSecret(SeededRandom.draw(3))), count: 3)
        secrets.current = [
            ("chain key", next.secret.copyBytes()), ("wrap secret", SeededRandom.draw(2)),
        ]
        secrets.check(probe, leaks: leaks)
    }

    @Test(arguments: [false, true])
    func aSigningKeyIsWiped(leaks: Bool) throws {
        let probe = try SecretProbeProcess("sign", leaks: leaks)
        _ = try probe.next()
        var secrets = Secrets()
        let seed = SeededRandom.draw(0)
        secrets.old = [("seed", seed), ("scalar and prefix", sha512(seed))]
        secrets.check(probe, leaks: leaks)
    }
}

/// A process of `secret-probe`. It ends with this value.
private final class SecretProbeProcess {
    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []

    init(_ role: String, leaks: Bool) throws {
        var toProbe: [Int32] = [0, 0]
        var fromProbe: [Int32] = [0, 0]
        try #require(pipe2(&toProbe, O_CLOEXEC) == 0 && pipe2(&fromProbe, O_CLOEXEC) == 0)
        let command = Command(
            path: Programs.path("secret-probe"), [role] + (leaks ? ["--leak"] : []),
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        process = try command.spawn([
            (0, .descriptor(toProbe[0])), (1, .descriptor(fromProbe[1])),
            (2, .file("/dev/null", O_WRONLY)),
        ])
        close(toProbe[0])
        close(fromProbe[1])
        (input, output) = (toProbe[1], fromProbe[0])
    }

    deinit {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
        close(input)
        close(output)
    }

    func send(_ record: JSONObject) throws {
        let line = record.serialized() + [UInt8(ascii: "\n")]
        try #require(line.withUnsafeBytes { write(input, $0.baseAddress!, $0.count) } == line.count)
    }

    func next() throws -> JSONObject {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return try JSON.object(parsing: Array(buffer[..<end]))
            }
            let count = read(output, &piece, piece.count)
            try #require(count > 0, "the probe ended")
            buffer += piece[..<count]
        }
    }

    /// The writable memory of the process.
    var memory: ProcessMemory { ProcessMemory(of: process) }
}

extension ProcessMemory {
    /// Whether the memory has bytes 15 to 30 of a secret. The first ones of a freed allocation are overwritten, and the
    /// last one of an X25519 secret is changed when it is used.
    fileprivate func contains(secret: [UInt8]) -> Bool { contains(Array(secret[15..<31])) }
}
