import Sotto

/// `ratchet-bench lengths`: the bytes that a hybrid session adds to a classical one.
enum Lengths {
    static func print() throws {
        for (name, isHybrid) in [("classical", false), ("hybrid", true)] {
            let alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
            let bob = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
            let signed = SecretPreKey(.signed, id: 1)
            let postQuantum = isHybrid ? SecretPreKey(.postQuantum, id: 1) : nil
            let bundle = try PreKeyBundle(
                identityKey: bob.id.publicKey, signedPreKey: signed.signed(by: bob, at: .now()),
                pqSignedPreKey: postQuantum?.signed(by: bob, at: .now()), oneTimePreKey: nil)
            var (a, b) = (try PeerSession(by: alice, with: bundle), PeerSession?.none)
            func write(_ session: inout PeerSession, _ writer: Identity) throws -> Envelope {
                try session.seal(
                    body: Message.textBody("hello"), from: writer, time: .now())
            }
            let first = try write(&a, alice)
            if let header = try PeerSession.preKeyHeader(in: first) {
                b = try PeerSession(
                    by: bob, accepting: header,
                    with: .init(signed: signed, postQuantum: postQuantum, oneTime: nil))
            }
            guard var b else { return }
            _ = try b.open(first)
            _ = try a.open(write(&b, bob))
            let turn = try (0..<10).map { _ in try write(&a, alice) }
            for envelope in turn { _ = try b.open(envelope) }
            let lengths = turn.map { $0.record.serialized().count }
            for (what, bytes) in [
                ("first message of a session", first.record.serialized().count),
                ("first message of a chain", lengths[0]), ("another message", lengths[3]),
                ("turn of 3 messages", lengths[..<3].reduce(0, +)),
                ("turn of 10 messages", lengths.reduce(0, +)),
                ("stored session that sent last", a.encoded().count),
                ("stored session that read last", b.encoded().count),
            ] {
                Swift.print("\(what), \(name)\t\(bytes)")
            }
        }
    }
}
