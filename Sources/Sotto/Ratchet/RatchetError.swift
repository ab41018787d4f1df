/// Why a session refuses a message. The session stays as it was.
public enum RatchetError: Error, Sendable, Equatable {
    /// The tag is wrong: forged, changed, of another session, or the state is from before.
    case authentication
    /// The message's key was used or dropped: a replay, or a message older than what is kept.
    case noKey
    /// The header would skip more than ``Session/maximumSkip`` messages.
    case tooManySkipped
    /// A counter at its end, 2³¹ − 1.
    case counterOverflow
    /// A public key that gives an all-zero shared secret.
    case lowOrderKey
    /// The payload is not of the ratchet's form.
    case payload
    /// The message is longer than an envelope may carry.
    case tooLong(limit: Int)
    /// Nothing can be sent before the peer's first message.
    case cannotSendYet
}
