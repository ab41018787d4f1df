import Sotto

/// A reason not to answer a challenge.
public enum Whisper2ChallengeError: Error, Sendable, Equatable {
    /// The challenge begins as a message's canonical string does. The answer would be a signature under that message.
    case message
    /// The challenge does not have ``Whisper2Keys/challengeSize`` bytes.
    case size(Int)
}

extension Whisper2Keys {
    /// The length of a challenge in bytes.
    public static let challengeSize = 32

    /// Returns the answer to the server's challenge: the 64-byte Ed25519 signature over its SHA-256.
    ///
    /// Messages are signed under the same key in the same way, without a label. A server that could obtain signatures
    /// of any challenge could also obtain signatures of messages. A challenge of 32 bytes is shorter than every
    /// canonical string.
    public func answer(challenge: [UInt8]) throws(Whisper2ChallengeError) -> [UInt8] {
        guard !challenge.starts(with: "v1\n".utf8) else { throw .message }
        guard challenge.count == Self.challengeSize else { throw .size(challenge.count) }
        return signing.sign(sha256(challenge))
    }
}
