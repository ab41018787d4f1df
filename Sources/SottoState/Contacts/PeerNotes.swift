public import Sotto
import SottoDatabase

/// Numbers stored for a peer in the table `number`, under a keyed hash of the peer's id.
extension StateTransaction {
    /// The kinds of notes.
    enum PeerNote: String {
        /// When a bundle of the peer's prekeys was stored, in seconds.
        case bundleKept = "bundle kept"
        /// When a bundle was last requested in advance, in seconds.
        case bundleTried = "bundle tried"
        /// When the prekeys of the last bundle with a signature over both were made, in seconds.
        case pairSigned = "pair signed"
        /// The suite of the last message to the peer: 0 for `sealed`, 1 for `ratchet`.
        case suite
        /// A ``CardDelivery``.
        case card
        /// The keyed hash of the parts of the owner's profile that were sent last, 8 bytes.
        case profile
        /// When the profile that was sent last was issued, in seconds.
        case profileIssued = "profile issued"
        /// When the peer was last told that this state was lost, in seconds.
        case repairMade = "repair made"
        /// When the peer last told that its state was lost, by this machine's clock, in seconds.
        case repairTaken = "repair taken"
        /// The same by the peer's clock.
        case repairWritten = "repair written"
        /// The loss of which a machine of the peer told last: its time by the peer's clock, in seconds.
        case repairSince = "repair since"
        /// The day since 1970 on which the peer last told of a loss, times 1,000, plus the number of times.
        case repairs
        /// The day since 1970 on which messages were last sent again after such a loss, times 1,000, plus their number.
        case repeated
        /// When an envelope that could not be opened last claimed to be from the peer, in seconds.
        case unopened
        /// When a relay was last asked for the revocation and the successions of the peer, in seconds.
        case newsAsked = "news asked"
        /// When another own device confirmed a device, in seconds.
        case deviceConfirmed = "device confirmed"
        /// When another own device objected to a device, in seconds.
        case deviceObjected = "device objected"
        /// When the last message of an own device was written, in seconds.
        case deviceHeard = "device heard"
        /// The number of the last list of devices of which a second one was seen.
        case deviceFork = "device fork"
    }

    private func name(_ note: PeerNote, _ mark: [UInt8]) -> String {
        "\(note.rawValue) \(hex(mark))"
    }

    /// Returns a note on the peer whose keyed hash is `mark`, or `nil`.
    func note(_ note: PeerNote, mark: [UInt8]) throws(StateError) -> Int64? {
        return try connection.first("SELECT value FROM number WHERE name = ?", name(note, mark)) {
            $0.integer(0)
        }
    }

    func setNote(_ note: PeerNote, mark: [UInt8], to value: Int64) throws(StateError) {
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, name(note, mark), value)
    }

    func removeNote(_ note: PeerNote, mark: [UInt8]) throws(StateError) {
        try connection.run("DELETE FROM number WHERE name = ?", name(note, mark))
    }

    /// Returns the suite of the last message to a peer: `sealed`, `ratchet`, or `nil` if none is recorded.
    public func lastSuite(of peer: KeyID) throws(StateError) -> Suite? {
        switch try note(.suite, mark: store.mark(peer)) {
        case 0: .sealed
        case 1: .ratchet
        default: nil
        }
    }

    /// Records the suite of a message to a peer, `sealed` or `ratchet`.
    public func noteSuite(_ suite: Suite, of peer: KeyID) throws(StateError) {
        try setNote(.suite, mark: store.mark(peer), to: suite == .ratchet ? 1 : 0)
    }
}
