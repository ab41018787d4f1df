/// The limits of the members of bodies. The suites limit the whole record.
public enum BodyLimits {
    /// The maximum length of an emoji in bytes.
    public static let emoji = 64
    /// The maximum number of ids in a receipt.
    public static let receiptIDs = 256
    /// The maximum number of mentioned ids.
    public static let mentions = 256
    /// The maximum length of a quoted text in bytes.
    public static let quotation = 4_096
    /// The longest time of a timer or an expiry in seconds: 365 days.
    public static let timer: Int64 = 31_536_000
    /// The maximum length of a file name in bytes.
    public static let fileName = 255
    /// The maximum length of a media type in bytes.
    public static let contentType = 100
    /// The maximum size of a file in bytes: the largest integer that every JSON reader keeps exactly (RFC 8259 §6).
    public static let fileSize: Int64 = (1 << 53) - 1
    /// The maximum length of a relay's address in bytes.
    public static let relay = 1_024
    /// The maximum width and height of a picture.
    public static let pixels: Int64 = 65_535
    /// The maximum size of a thumbnail or a profile picture in bytes.
    public static let thumbnail = 8_192
    /// The maximum length in bytes of the picture of a profile that is in a blob.
    public static let picture: Int64 = 4 << 20
    /// The greatest width and height of a profile picture that is kept, and of a thumbnail that a web page shows, in pixels.
    public static let thumbnailSide = 1_024
    /// The maximum length of a name in bytes: of a profile, or the id of a group.
    public static let name = 128
    /// The maximum length in bytes of a profile's description.
    public static let about = 1_024
    /// The maximum length in bytes of a profile's phone number or location.
    public static let detail = 256
    /// The maximum length of a session description of a call in bytes (RFC 8866).
    public static let sdp = 16_384
    /// The maximum number of candidates in a call's signal.
    public static let candidates = 64
    /// The maximum length of one candidate in bytes, as JSON.
    public static let candidate = 1_024
}
