import Sotto

extension FuzzTarget {
    /// A stored session. One that is read is written unchanged, and can be used.
    static let keptSession = FuzzTarget("kept-session") { bytes in
        guard var session = PeerSession(encoded: bytes) else { return }
        let encoded = session.encoded()
        precondition(PeerSession(encoded: encoded)?.encoded() == encoded)
        let time = Timestamp(seconds: 0)
        guard let sent = try? session.seal(body: [:], from: reader, time: time) else { return }
        // The session refuses a message that it sent itself.
        let before = session.encoded()
        precondition((try? session.open(sent)) == nil && session.encoded() == before)
    }
}
