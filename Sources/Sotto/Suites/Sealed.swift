import SottoPadding

/// A reason why a sealed message cannot be made or opened.
public enum SealedError: Error, Sendable, Equatable {
    /// The payload has no age file, or is malformed.
    case payload
    /// The envelope is addressed to another recipient.
    case notForUs
    /// None of the identity's keys opens the age file.
    case noMatch
    /// The message was changed or truncated, or was signed for another recipient, or its outer fields differ from the
    /// inner ones.
    case authentication
    /// The message is longer than the limit of an envelope, in bytes.
    case tooLong(limit: Int)
    /// The recipient's key is not valid.
    case recipient
}

extension SealedError: UnversionedRecordError {
    /// Returns ``payload``.
    public static func member(_ name: String) -> SealedError { .payload }
}

/// The suite `sealed`, which needs no session and no state.
///
/// The payload is `{"age": base64}`: an age file to the recipient's key (post-quantum if the card has one). It contains
/// a signed stream whose audience is that recipient string, which contains a bucket-padded frame with the message
/// record. The record repeats the envelope's `id`, `to`, `time` and `ttl`, which are compared.
public enum Sealed {
    /// The longest message record, in bytes.
    public static let recordLimit = MessageContent.limit

    /// Encrypts and signs `body`, and members to pass through, from `identity` to the owner of `card`.
    public static func seal(
        body: JSONObject, extra: [(name: String, value: JSON)] = [], from identity: Identity,
        to card: Card, classic: Bool = false, time: Timestamp, ttl: Int64? = nil,
        id: String = Envelope.newID()
    ) throws(SealedError) -> Envelope {
        let bytes = MessageContent.encode(
            body: body, extra: extra, id: id, to: card.id, time: time, ttl: ttl)
        guard bytes.count <= recordLimit else { throw .tooLong(limit: recordLimit) }
        let recipient = card.recipient(classic: classic)
        let file: [UInt8]
        do {
            let signed = SignedStream.seal(
                try Padding.frame(bytes), by: identity.signingKey,
                audience: SignedStream.audience([recipient.text]))
            file = try AgeFile.seal(signed, for: .recipients([recipient]))
        } catch {
            throw .recipient
        }
        return Envelope(
            id: id, suite: .sealed, to: card.id, time: time, ttl: ttl,
            payload: ["age": .base64(file)])
    }

    /// Opens an envelope addressed to `identity`. The message's trust is ``Message/Trust/unverified``; the caller knows
    /// whether the sender's key is a contact's.
    public static func open(
        _ envelope: Envelope, with identity: Identity
    ) throws(SealedError) -> Message {
        let file = try Fields<SealedError>(envelope.payload)["age"].bytes()
        guard envelope.to == identity.device else { throw .notForUs }
        let (signer, bytes) = try openFile(file, with: identity)
        guard let content = envelope.content(of: bytes) else { throw .authentication }
        let from = KeyID(publicKey: signer)
        guard envelope.from == nil || envelope.from == from else { throw .authentication }
        return Message(
            id: envelope.id, from: from, to: envelope.to, time: envelope.time, suite: .sealed,
            authenticated: true, trust: .unverified, body: content.body,
            members: content.members)
    }

    private static func openFile(
        _ file: [UInt8], with identity: Identity
    ) throws(SealedError) -> (signer: [UInt8], record: [UInt8]) {
        do {
            let age = try AgeFileReader.opened(
                file, identities: [.hybrid(identity.hybridKey), .x25519(identity.ageKey)])
            let signed = try SignedStream.open(age.plaintext)
            guard let recipient = age.by,
                constantTimeEqual(signed.audience, SignedStream.audience([recipient.text])),
                signed.content.count <= Padding.buckets.last!
            else { throw SealedError.authentication }
            return (signed.signer, try Padding.unframe(signed.content))
        } catch AgeError.noMatch {
            throw .noMatch
        } catch {
            throw .authentication
        }
    }
}

extension Sealed: MessageSuite {
    /// Encrypts a message to the owner of a card. Throws ``SealedError/recipient`` if the recipient has no card.
    public static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope {
        guard let card = recipient.card else { throw SealedError.recipient }
        return try seal(
            body: draft.body, extra: draft.extra, from: keys.identity(), to: card,
            classic: keys.classic, time: draft.time, ttl: draft.ttl, id: draft.id)
    }

    /// Opens an envelope addressed to the user. Throws ``SealedError``.
    public static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message {
        try open(envelope, with: keys.identity())
    }
}
