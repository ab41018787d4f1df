import Sotto

/// The limits of the relay protocol that both sides know.
public enum WireLimits {
    /// The longest envelope, in bytes of its one-line form.
    public static let envelopeBytes = RecordForm.envelope.bytes
    /// The longest publication of prekeys, in bytes of its one-line form; with 100 one-time prekeys it has about a
    /// sixth of that.
    public static let publicationBytes = RecordForm.preKeys.bytes
    /// The most values of a frame, as ``FrameOutline`` counts them; a publication of 100 one-time prekeys has 440.
    public static let frameValues = 512
    /// The most one-time prekeys of an owner that a relay stores.
    public static let oneTimePreKeys = 200
    /// The longest card or login key record, in bytes of its one-line form.
    public static let cardBytes = RecordForm.card.bytes
    /// The most cards in one answer to a search for an account.
    public static let cardCount = 8
    /// The longest record of a room, in bytes of its one-line form.
    public static let roomBytes = RoomRecord.limit
    /// Seconds that the time of a room's record may be ahead of the relay's clock.
    public static let roomSeconds: Int64 = 300
    /// The most claims and lookups on one connection in a minute.
    public static let claimsInAMinute = 100
    /// The most claims in one batch. Its answer has about 3 kB for each.
    public static let claimCount = 100
    /// The maximum nesting of arrays and objects in an envelope. A frame adds up to 5 levels, and must still be
    /// parsed.
    public static let envelopeDepth = RecordForm.envelope.depth
    /// The longest line that a relay reads, in bytes: an envelope and the frame around it.
    public static let requestBytes = 96 << 10
    /// The longest line that a client reads, in bytes.
    public static let responseBytes = 1 << 20
    /// The most envelope bytes in one `messages` reply; a longer first envelope is sent alone.
    public static let fetchBytes = 512 << 10
    /// The most envelopes in one `messages` reply.
    public static let fetchCount = 100
    /// The most pushed envelopes without acknowledgement.
    public static let window = 256
    /// The most ids in one `ack`.
    public static let ackCount = 256
    /// The number of `failed` acknowledgements that makes an envelope a dead letter.
    public static let failures = 5
    /// Bytes of a login's nonce.
    public static let nonceBytes = 32
    /// Bytes of the mark of a client's state in a login.
    public static let instanceBytes = 16
    /// The days since 1970 that a relay may name, up to the year 9999.
    public static let days: ClosedRange<Int64> = 0...2_932_896
    /// Seconds for which a nonce is valid.
    public static let nonceSeconds = 60.0
    /// The most open mailboxes on one connection.
    public static let openMailboxes = 256
    /// The length of a blob's id in bytes.
    public static let blobIDBytes = 32
    /// The most bytes of a blob in one `blob_put`.
    public static let blobPieceBytes = 64 << 10
    /// The most bytes of a blob in one `blob_data`.
    public static let blobReadBytes = 256 << 10
    /// The most bytes of a message of a meeting.
    public static let meetingBytes = MeetingMessage.limit
    /// The number of messages of a meeting, which a relay stores in order.
    public static let meetingSteps = 4
    /// Seconds for which a relay keeps the place of a meeting.
    public static let meetingSeconds: Int64 = 600
    /// The longest name of a relay, in bytes.
    public static let nameBytes = 255
    /// The longest address of a wake-up, in bytes.
    public static let wakeURLBytes = 512
    /// The longest token of a wake-up, in bytes.
    public static let wakeTokenBytes = 64
    /// Days after which a registration for wake-ups expires.
    public static let wakeDays: Int64 = 30
    /// The longest time to live of an envelope that begins or ends a call, in seconds.
    public static let callSeconds: Int64 = 60
    /// Days until an unused code that a member made expires.
    public static let invitationDays: Int64 = 7
    /// The longest label of an invitation, in bytes.
    public static let labelBytes = 64
    /// The longest address of a room that a relay offers, in bytes.
    public static let roomURIBytes = 1024
}
