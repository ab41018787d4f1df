import Sotto

extension FuzzTarget {
    /// A session as it is kept: what is read is written as the same, and can be used.
    static let keptSession = FuzzTarget("kept-session") { bytes in
        guard var session = PeerSession(encoded: bytes) else { return }
        let encoded = session.encoded()
        precondition(PeerSession(encoded: encoded)?.encoded() == encoded)
        let time = Timestamp(seconds: 0)
        guard let sent = try? session.seal(body: [:], from: reader, time: time) else { return }
        // Our own message is none of the peer's.
        let before = session.encoded()
        precondition((try? session.open(sent)) == nil && session.encoded() == before)
    }
}
