public import Sotto

/// Numbers stored for a peer in the table `number`, under a keyed hash of the peer's id.
extension StateTransaction {
    /// The kinds of notes.
    enum PeerNote: String {
        /// When a bundle of the peer's prekeys was stored, in seconds.
        case bundleKept = "bundle kept"
        /// When a bundle was last requested in advance, in seconds.
        case bundleTried = "bundle tried"
        /// The suite of the last message to the peer: 0 for `sealed`, 1 for `ratchet`.
        case suite
    }

    private func name(_ note: PeerNote, _ mark: [UInt8]) -> String {
        "\(note.rawValue) \(hex(mark))"
    }

    /// Returns a note on the peer whose keyed hash is `mark`, or `nil`.
    func note(_ note: PeerNote, mark: [UInt8]) throws(StateError) -> Int64? {
        let select = try connection.statement("SELECT value FROM number WHERE name = ?")
        defer { select.reset() }
        select.bind(1, name(note, mark))
        return try select.step() ? select.integer(0) : nil
    }

    func setNote(_ note: PeerNote, mark: [UInt8], to value: Int64) throws(StateError) {
        let set = try connection.statement(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """)
        set.bind(1, name(note, mark))
        set.bind(2, value)
        try set.run()
    }

    func removeNote(_ note: PeerNote, mark: [UInt8]) throws(StateError) {
        let delete = try connection.statement("DELETE FROM number WHERE name = ?")
        delete.bind(1, name(note, mark))
        try delete.run()
    }

    /// Returns the suite of the last message to a peer: `sealed`, `ratchet`, or `nil` if none is recorded.
    public func lastSuite(of peer: SessionID) throws(StateError) -> Suite? {
        switch try note(.suite, mark: store.mark(peer)) {
        case 0: .sealed
        case 1: .ratchet
        default: nil
        }
    }

    /// Records the suite of a message to a peer, `sealed` or `ratchet`.
    public func noteSuite(_ suite: Suite, of peer: SessionID) throws(StateError) {
        try setNote(.suite, mark: store.mark(peer), to: suite == .ratchet ? 1 : 0)
    }
}
