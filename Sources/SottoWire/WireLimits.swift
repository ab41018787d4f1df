/// The bounds of the relay protocol that both sides know.
public enum WireLimits {
    /// The longest envelope, in bytes of its one-line form.
    public static let envelopeBytes = 64 << 10
    /// The longest publication of prekeys, in bytes of its one-line form; one of 100 one-time prekeys has
    /// about a sixth of that.
    public static let publicationBytes = 64 << 10
    /// The most values of a frame, as ``FrameOutline`` counts them; a publication of 100 one-time prekeys has 440.
    public static let frameValues = 512
    /// The most one-time prekeys that a relay keeps of one owner.
    public static let oneTimePreKeys = 200
    /// The longest card or word on a login key, in bytes of its one-line form.
    public static let cardBytes = 32 << 10
    /// The most claims, or looks into the directory, on one connection in a minute.
    public static let claimsInAMinute = 100
    /// How deep arrays and objects of an envelope may nest. A frame adds up to 5 levels around it, and must
    /// stay readable.
    public static let envelopeDepth = 8
    /// The longest line that a relay reads: an envelope and the frame around it.
    public static let requestBytes = 96 << 10
    /// The longest line that a client reads.
    public static let responseBytes = 1 << 20
    /// The most envelope bytes in one `messages` reply, unless its first envelope alone is longer.
    public static let fetchBytes = 512 << 10
    /// The most envelopes in one `messages` reply.
    public static let fetchCount = 100
    /// The most pushed envelopes that are not acknowledged.
    public static let window = 256
    /// The most ids in one `ack`.
    public static let ackCount = 256
    /// The `failed` that makes an envelope a dead letter.
    public static let failures = 5
    /// Bytes of a login's nonce.
    public static let nonceBytes = 32
    /// Seconds in which a nonce may be used.
    public static let nonceSeconds = 60.0
    /// The most mailboxes that are open on one connection.
    public static let openMailboxes = 256
    /// The longest name of a relay, in bytes.
    public static let nameBytes = 255
}
