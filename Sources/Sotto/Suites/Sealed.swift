/// Why a sealed message is not opened.
public enum SealedError: Error, Sendable, Equatable {
    /// The payload has no age file, or not of the suite's form.
    case payload
    /// The envelope is addressed to somebody else.
    case notForUs
    /// None of our keys opens it.
    case noMatch
    /// It was changed, cut, signed for somebody else, or its outer fields are not those inside.
    case authentication
    /// The message is longer than an envelope may carry.
    case tooLong(limit: Int)
    /// The recipient's key is not valid.
    case recipient
}

/// The suite `sealed`: no session, no state.
///
/// The payload is `{"age": base64}`: an age file to the recipient's key (post-quantum where their card has
/// one), in it a signed stream whose audience is that one recipient string, in it a bucket-padded frame, in it
/// the message record. The envelope's `id`, `to` and `time` are repeated in the record and compared.
public enum Sealed {
    /// The longest message record, in bytes.
    public static let recordLimit = MessageContent.limit

    /// Seals `body`, and members that pass through, from `identity` to the owner of `card`.
    public static func seal(
        body: JSONObject, extra: [(name: String, value: JSON)] = [], from identity: Identity,
        to card: Card, classic: Bool = false, time: Timestamp, id: String = Envelope.newID()
    ) throws(SealedError) -> Envelope {
        let bytes = MessageContent.encode(
            body: body, extra: extra, id: id, to: card.id, time: time)
        guard bytes.count <= recordLimit else { throw .tooLong(limit: recordLimit) }
        let recipient = card.recipient(classic: classic)
        let file = MemorySink()
        do {
            let age = try AgeFile.writer(for: .recipients([recipient]), to: file)
            let signed = try SignedStreamWriter(
                by: identity.signingKey, audience: SignedStream.audience([recipient.text]), to: age)
            try signed.write(try Padding.frame(bytes))
            try signed.finish()
        } catch {
            throw .recipient
        }
        return Envelope(
            id: id, suite: .sealed, to: card.id, time: time,
            payload: ["age": .string(Base64.standard.encode(file.bytes))])
    }

    /// Opens an envelope addressed to `identity`. The message's trust is ``Message/Trust/unverified``:
    /// whose key the sender's is, the caller knows.
    public static func open(
        _ envelope: Envelope, with identity: Identity
    ) throws(SealedError) -> Message {
        guard let file = envelope.payload["age"]?.string.flatMap({ Base64.standard.decode($0) })
        else { throw .payload }
        guard envelope.to == identity.id else { throw .notForUs }
        let (signer, bytes) = try openFile(file, with: identity)
        guard let content = MessageContent(bytes, of: envelope) else { throw .authentication }
        let from = SessionID(publicKey: signer)
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
            let age = try AgeFileReader(
                MemorySource(file),
                identities: [.hybrid(identity.hybridKey), .x25519(identity.ageKey)],
                passphrase: { nil })
            let signed = try SignedStreamReader(age)
            guard let recipient = age.openedBy,
                constantTimeEqual(signed.audience, SignedStream.audience([recipient.text]))
            else { throw SealedError.authentication }
            var frame = [UInt8](repeating: 0, count: Padding.buckets.last! + 1)
            let count = try frame.withUnsafeMutableBytes { try signed.fill($0) }
            return (signed.signer, try Padding.unframe(Array(frame[..<count])))
        } catch AgeError.noMatch {
            throw .noMatch
        } catch {
            throw .authentication
        }
    }
}

extension Sealed: MessageSuite {
    /// What is to be known of it.
    public static let traits = SuiteTraits(
        payloadMembers: ["age"], bindsEnvelope: true,
        protection: ["yes", "yes", "no", "yes", "yes"])

    /// Protects a message for the owner of a card. Throws ``SealedError/recipient`` where there is none.
    public static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope {
        guard let card = recipient.card else { throw SealedError.recipient }
        return try seal(
            body: draft.body, extra: draft.extra, from: keys.identity(), to: card,
            classic: keys.options.classic, time: draft.time, id: draft.id)
    }

    /// Opens an envelope addressed to us. Throws ``SealedError``.
    public static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message {
        try open(envelope, with: keys.identity())
    }
}
