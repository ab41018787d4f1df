import Glibc
import Sotto

/// `ratchet-bench [SECONDS [PREFIX]]`: measures messages and session starts per second in the ratchet's core, both
/// sides on one thread, and session starts on all cores, without JSON. With PREFIX it runs only the benchmarks whose
/// names begin with it, for a profiler. Each line is `NAME<tab>RATE`; Bench/vodozemac.py prints the same for vodozemac.
///
/// `ratchet-bench lengths`: prints the lengths of envelopes and of stored sessions in bytes.
@main
struct RatchetBench {
    static func main() throws {
        if CommandLine.arguments.count == 7, CommandLine.arguments[1] == "populate" {
            return try Populate.run(Array(CommandLine.arguments[2...]))
        }
        if CommandLine.arguments.count == 5, CommandLine.arguments[1] == "bundles" {
            return try Populate.keepBundles(Array(CommandLine.arguments[2...]))
        }
        if CommandLine.arguments.dropFirst() == ["lengths"] { return try Lengths.print() }
        let seconds = CommandLine.arguments.count > 1 ? Double(CommandLine.arguments[1]) ?? 2 : 2
        let people = try People()
        for size in [100, 1000] {
            let plaintext = randomBytes(size)
            for (published, kind) in [(people.postQuantum, ""), (people.classic, ", X3DH")] {
                var (alice, bob) = try people.start(published)
                try rate("one way, \(size) bytes\(kind)", seconds) {
                    try transfer(plaintext, from: &alice, to: &bob)
                }
                try rate("ping-pong, \(size) bytes\(kind)", seconds) {
                    try transfer(plaintext, from: &bob, to: &alice)
                    swap(&alice, &bob)
                }
            }
        }
        try rate("session starts, X3DH", seconds) { _ = try people.start(people.classic) }
        try rate("session starts, PQXDH", seconds) { _ = try people.start(people.postQuantum) }
        // Sessions with many people begin on all threads, as in `encrypt`.
        let pool = ThreadPool()
        for (published, kind) in [(people.classic, "X3DH"), (people.postQuantum, "PQXDH")] {
            try rate("session starts, \(kind), all cores", seconds, each: 20) {
                let started = pool.started(Array(0..<20), slice: 5) { slice in
                    slice.map { _ in Result { _ = try people.start(published) } }
                }
                for result in started.results() { try result.get() }
            }
        }
    }

    /// Encrypts and decrypts one message.
    static func transfer(
        _ plaintext: [UInt8], from sender: inout Session, to reader: inout Session
    ) throws {
        guard try reader.decrypt(try sender.encrypt(plaintext)) == plaintext else { exit(1) }
    }

    /// Repeats `body` for some time and prints its rate per second. A call counts as `each`.
    static func rate(
        _ name: String, _ seconds: Double, each: Int = 1, _ body: () throws -> Void
    ) throws {
        if CommandLine.arguments.count > 2, !name.hasPrefix(CommandLine.arguments[2]) { return }
        for _ in 0..<(100 / each) { try body() }
        var count = 0
        let start = now()
        var elapsed = 0.0
        while elapsed < seconds {
            for _ in 0..<(20 / each) { try body() }
            count += 20
            elapsed = now() - start
        }
        print("\(name)\t\(Int(Double(count) / elapsed))")
    }

    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Two identities, and the prekeys of one of them.
struct People: Sendable {
    /// The members of a published bundle; each start verifies its signatures.
    struct Published: Sendable {
        let signed: PreKeyBundle.SignedPreKey
        let postQuantum: PreKeyBundle.SignedPreKey?
    }

    let alice = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "alice")
    let bob = Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "bob")
    let alicePair: RatchetKeyPair
    let bobPair: RatchetKeyPair
    let signedPair = RatchetKeyPair()
    let oneTimePair = RatchetKeyPair()
    let kem = SecretPreKey(.postQuantum, id: 1)
    let classic: Published
    let postQuantum: Published

    init() throws {
        alicePair = alice.agreementPair()
        bobPair = bob.agreementPair()
        let signed = PreKeyBundle.SignedPreKey(
            id: 1, key: signedPair.publicKey, signature: bob.signingKey.sign(signedPair.publicKey))
        classic = Published(signed: signed, postQuantum: nil)
        postQuantum = Published(
            signed: signed,
            postQuantum: kem.signed(by: bob, at: .now()))
    }

    /// Starts a session from a bundle to the first message: verify, initiate, send, respond and read.
    func start(_ published: Published) throws -> (alice: Session, bob: Session) {
        let bundle = try PreKeyBundle(
            identityKey: bob.id.publicKey, signedPreKey: published.signed,
            pqSignedPreKey: published.postQuantum,
            oneTimePreKey: PreKeyBundle.PreKey(id: 1, key: oneTimePair.publicKey))
        let (agreement, header) = try KeyAgreement.initiate(
            own: alicePair, publicKey: alice.id.publicKey, bundle, ephemeral: RatchetKeyPair())
        var initiator = Session(
            initiatorWith: agreement, theirSignedPreKey: signedPair.publicKey)
        let message = try initiator.encrypt([1])
        let theirs = try KeyAgreement.respond(
            own: bobPair, publicKey: bob.id.publicKey, header, signed: signedPair,
            oneTime: oneTimePair, kemKey: kem.kemKey)
        var responder = Session(responderWith: theirs, signedPreKey: signedPair)
        guard try responder.decrypt(message) == [1] else { exit(1) }
        return (initiator, responder)
    }
}
