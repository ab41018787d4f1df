import Glibc
import Sotto
import TestHarness

/// A process whose memory SecretMemoryTests searches. It takes steps with secrets of a known random source, drops what a
/// step replaces, and waits for its input.
///
///     secret-probe initiator|responder|group|sign [--leak]
///
/// A line of input is a bundle or an envelope, a line of output is an id, a bundle or an envelope. With `--leak` it does
/// not wipe the stored form of a session, a chain or a key: the search must find that.
@main
enum SecretProbe {
    private static let isLeaking = CommandLine.arguments.contains("--leak")
    private static let time = Timestamp(seconds: 1_800_000_000)

    static func main() {
        SeededRandom.install()
        do {
            switch CommandLine.arguments.dropFirst().first {
            case "initiator": try initiate()
            case "responder": try respond()
            case "group": try group()
            case "sign": sign()
            default: exit(64)
            }
        } catch {
            exit(65)
        }
    }

    // MARK: Input and output

    private static func show(_ record: JSONObject) {
        let line = record.serialized() + [UInt8(ascii: "\n")]
        line.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = write(1, rest.baseAddress!, rest.count)
                guard count > 0 else { exit(1) }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    private static func next() -> JSONObject? {
        guard let line = readLine(), !line.isEmpty else { return nil }
        guard let record = try? JSON.object(parsing: Array(line.utf8)) else { exit(65) }
        return record
    }

    nonisolated(unsafe) private static var leaked: [[UInt8]] = []

    /// Wipes the stored form of a value, as the callers of `encoded()` do. With `--leak` it stays, because later
    /// allocations would reuse freed memory, whether it was wiped or not.
    private static func store(_ bytes: consuming [UInt8]) {
        if isLeaking { leaked.append(bytes) } else { wipe(&bytes) }
    }

    private static func seal(
        _ text: String, in session: inout PeerSession, from owner: Identity
    ) throws {
        let envelope = try session.seal(
            body: Message.textBody(text), from: owner, time: time)
        store(session.encoded())
        show(envelope.record)
    }

    // MARK: Roles

    /// Begins a session with the bundle of the input and writes three messages; then opens each envelope and answers it.
    private static func initiate() throws {
        let owner = Identity(seed: SecretBytes(randomCount: 32), name: "probe")
        show(["id": .string(owner.id.description)])
        guard let record = next() else { return }
        var session = try PeerSession(by: owner, with: PreKeyBundle(record: record))
        for number in 0..<3 { try seal("\(number)", in: &session, from: owner) }
        while let record = next() {
            _ = try session.open(Envelope(record: record))
            try seal("answer", in: &session, from: owner)
        }
    }

    /// Shows a bundle, opens each envelope of the input and answers it.
    private static func respond() throws {
        let owner = Identity(seed: SecretBytes(randomCount: 32), name: "probe")
        var preKeys: PeerSession.PreKeys? = showBundle(of: owner)
        var session: PeerSession?
        while let record = next() {
            let envelope = try Envelope(record: record)
            if session == nil, let header = try PeerSession.preKeyHeader(in: envelope),
                let known = preKeys
            {
                let begun = try PeerSession(by: owner, accepting: header, with: known)
                store(begun.encoded())
                session = begun
            }
            preKeys = nil
            _ = try session?.open(envelope)
            if session != nil { try seal("answer", in: &session!, from: owner) }
        }
    }

    private static func showBundle(of owner: Identity) -> PeerSession.PreKeys {
        let signed = SecretPreKey(.signed, id: 1)
        let postQuantum = SecretPreKey(.postQuantum, id: 2)
        let oneTime = SecretPreKey(.oneTime, id: 3)
        for key in [signed, postQuantum, oneTime] { store(key.copySecret()) }
        let publication = PreKeyPublication(
            by: owner, signedPreKey: signed.signed(by: owner, at: time),
            pqSignedPreKey: postQuantum.signed(by: owner, at: time),
            oneTimePreKeys: [oneTime.publicHalf])
        guard let bundle = try? publication.bundle(oneTime: oneTime.publicHalf) else { exit(65) }
        show(bundle.record)
        return PeerSession.PreKeys(signed: signed, postQuantum: postQuantum, oneTime: oneTime)
    }

    /// Writes three messages of a chain and opens them with a chain that was received.
    private static func group() throws {
        let owner = Identity(seed: SecretBytes(randomCount: 32), name: "probe")
        var chain = GroupChain(
            group: GroupID([UInt8](repeating: 7, count: 32)), device: owner.id)
        var received = ReceivedGroupChain(chain.distribution)
        for _ in 0..<3 {
            store(chain.encoded())
            store(received.encoded())
            _ = try received.open(chain.seal(Array("x".utf8)))
        }
        show(["chain": .string(hex(chain.id))])
        _ = next()
        withExtendedLifetime((chain, received)) {}
    }

    /// Signs with a key and drops it.
    private static func sign() {
        func signature() -> [UInt8] {
            let key = SigningKey(seed: SecretBytes(randomCount: 32))
            let signature = key.sign(Array("x".utf8))
            store(key.withSeed { Array($0) })
            return signature
        }
        let signed = signature()
        show(["signature": .string(hex(signed))])
        _ = next()
    }
}
