/// A reason to end a meeting.
public enum MeetingError: Error, Sendable, Equatable {
    /// The peer's share is no element of the group, or leads to the identity element.
    case share
    /// The peer does not have the key: the codes or the relays' names differ, or an attacker guessed.
    case proof
    /// The message is not the next one of this side.
    case order
    /// The peer has the key, but its card is malformed.
    case card(CardError)
}

/// The purpose of a meeting. The codes of the two do not open each other.
public enum MeetingPurpose: Sendable {
    /// Two people become contacts.
    case contact
    /// A machine becomes a device of a person: the initiator is the new machine.
    case device

    /// ADa and ADb.
    var version: [UInt8] {
        switch self {
        case .contact: Array("sotto/meeting/v1".utf8)
        case .device: Array("sotto/meeting/device/v1".utf8)
        }
    }
}

/// The initiator of a meeting before the answer. It made the code.
public struct MeetingInitiator: ~Copyable {
    private let scalar: SecretBytes
    private let session: [UInt8]
    private let own: CPace.Message
    private let purpose: MeetingPurpose

    /// Begins a meeting. `relay` is the relay's name as a login uses it, `host:port`.
    public init(
        _ code: borrowing MeetingCode, relay: String, for purpose: MeetingPurpose = .contact
    ) {
        self.init(
            code, relay: relay, for: purpose, session: randomBytes(CPace.sessionBytes),
            scalar: CPace.randomScalar())
    }

    init(
        _ code: borrowing MeetingCode, relay: String, for purpose: MeetingPurpose = .contact,
        session: [UInt8], scalar: consuming SecretBytes
    ) {
        let generator = CPace.generator(
            password: code.password, channel: MeetingKeys.channel(relay, purpose),
            session: session)
        own = CPace.Message(
            share: CPace.share(of: scalar, generator: generator), data: purpose.version)
        self.purpose = purpose
        self.session = session
        self.scalar = scalar
    }

    /// The first message.
    public var offer: MeetingMessage { .offer(session: session, share: own.share) }

    /// Verifies that the responder has the key. Returns the keys for both cards.
    public borrowing func keys(_ message: MeetingMessage) throws(MeetingError) -> MeetingKeys {
        let (share, card, proof): ([UInt8], [UInt8], [UInt8])
        switch (purpose, message) {
        case (.contact, .answer(let theirs, let given)): (share, card, proof) = (theirs, [], given)
        case (.device, .deviceAnswer(let theirs, let box, let given)):
            (share, card, proof) = (theirs, box, given)
        default: throw .order
        }
        guard let shared = CPace.sharedElement(scalar, with: share) else { throw .share }
        let keys = MeetingKeys(
            isInitiator: true, shared: shared, session: session, initiator: own,
            responder: CPace.Message(share: share, data: purpose.version))
        guard keys.proof(.answer, over: card).matches(proof) else { throw .proof }
        return keys
    }
}

/// The keys of both sides of a meeting.
///
/// A side with these keys sends its card in ``seal(_:)`` and reads the other card in ``open(_:)``. The initiator gets them
/// from a responder who has proved the key. The responder sends ``answer``, and does not send its card before
/// ``open(_:)`` has verified the initiator's.
public struct MeetingKeys: ~Copyable {
    private let isInitiator: Bool
    private let key: SecretBytes
    private let responder: CPace.Message
    /// Both messages, lv(sid) ‖ lv(Ya) ‖ lv(ADa) ‖ lv(Yb) ‖ lv(ADb).
    private let transcript: [UInt8]

    /// Returns CI of a meeting at a relay with this name.
    static func channel(_ relay: String, _ purpose: MeetingPurpose = .contact) -> [UInt8] {
        [purpose.version, Array("initiator".utf8), Array("responder".utf8), Array(relay.utf8)]
            .flatMap(CPace.lengthValue)
    }

    /// Joins a meeting as the responder. `message` is the initiator's offer, and `relay` the relay's name as a login uses
    /// it, `host:port`.
    public init(
        joining message: MeetingMessage, _ code: borrowing MeetingCode, relay: String,
        for purpose: MeetingPurpose = .contact
    ) throws(MeetingError) {
        try self.init(
            joining: message, code, relay: relay, for: purpose, scalar: CPace.randomScalar())
    }

    init(
        joining message: MeetingMessage, _ code: borrowing MeetingCode, relay: String,
        for purpose: MeetingPurpose = .contact, scalar: consuming SecretBytes
    ) throws(MeetingError) {
        guard case .offer(let session, let share) = message else { throw .order }
        guard let shared = CPace.sharedElement(scalar, with: share) else { throw .share }
        let generator = CPace.generator(
            password: code.password, channel: Self.channel(relay, purpose), session: session)
        self.init(
            isInitiator: false, shared: shared, session: session,
            initiator: CPace.Message(share: share, data: purpose.version),
            responder: CPace.Message(
                share: CPace.share(of: scalar, generator: generator), data: purpose.version))
    }

    fileprivate init(
        isInitiator: Bool, shared: borrowing SecretBytes, session: [UInt8],
        initiator: CPace.Message, responder: CPace.Message
    ) {
        self.isInitiator = isInitiator
        self.responder = responder
        key = CPace.key(
            shared: shared, session: session, initiator: initiator, responder: responder)
        transcript =
            CPace.lengthValue(session) + initiator.transcript + responder.transcript
    }

    /// The responder's message, with its proof of the key.
    public var answer: MeetingMessage {
        .answer(share: responder.share, proof: proof(.answer, over: []).bytes)
    }

    /// Returns the responder's message with the owner's card, in a meeting that adds a device.
    public borrowing func answer(with card: Card) throws(MeetingError) -> MeetingMessage {
        let sealed = try sealed(card, .answer)
        return .deviceAnswer(share: responder.share, card: sealed.box, proof: sealed.proof)
    }

    /// The 60 digits that the users of both sides compare if an attacker can have the code. With each side the attacker has another
    /// meeting, and so another number.
    public borrowing func comparison() -> String {
        hkdfSHA256(key, info: "sotto/meeting/v1 comparison", count: 60).withBytes { bytes in
            stride(from: 0, to: bytes.count, by: 5).map { start in
                let number = bytes[start..<start + 5].reduce(0) { ($0 << 8 | UInt64($1)) }
                let digits = String(number % 100_000)
                return String(repeating: "0", count: 5 - digits.count) + digits
            }.joined()
        }
    }

    /// The uses of proofs and cards. Each has its own keys.
    fileprivate enum Use: String {
        case answer
        case firstCard = "first card"
        case secondCard = "second card"
    }

    /// Returns the message with this side's own card. Throws ``MeetingError/card(_:)`` for a card without a signature.
    public borrowing func seal(_ card: Card) throws(MeetingError) -> MeetingMessage {
        isInitiator
            ? .firstCard(try sealed(card, .firstCard)) : .secondCard(try sealed(card, .secondCard))
    }

    private borrowing func sealed(
        _ card: Card, _ use: Use
    ) throws(MeetingError) -> MeetingMessage.SealedCard {
        guard let record = card.record else { throw .card(.signature) }
        let text = JSON.object(record).canonical()
        let box = sealingKey(use).withPointer {
            XChaChaPoly.seal(text, authenticating: transcript, key: $0)
        }
        return MeetingMessage.SealedCard(box: box, proof: proof(use, over: box).bytes)
    }

    /// Verifies a message with the other side's card, and returns the card.
    public borrowing func open(_ message: MeetingMessage) throws(MeetingError) -> Card {
        let (use, sealed): (Use, MeetingMessage.SealedCard)
        switch (isInitiator, message) {
        case (false, .firstCard(let card)): (use, sealed) = (.firstCard, card)
        case (true, .secondCard(let card)): (use, sealed) = (.secondCard, card)
        case (true, .deviceAnswer(_, let box, let proof)):
            (use, sealed) = (.answer, MeetingMessage.SealedCard(box: box, proof: proof))
        default: throw .order
        }
        guard proof(use, over: sealed.box).matches(sealed.proof),
            let text = sealingKey(use).withPointer({
                XChaChaPoly.open(sealed.box, authenticating: transcript, key: $0)
            })
        else { throw .proof }
        do throws(CardError) {
            let record: JSONObject
            do throws(RecordFormError) {
                record = try RecordForm.card.record(parsing: text)
            } catch {
                throw .form(error)
            }
            return try Card(record: record)
        } catch {
            throw .card(error)
        }
    }

    private borrowing func sealingKey(_ use: Use) -> SecretBytes {
        hkdfSHA256(key, info: "sotto/meeting/v1 \(use.rawValue) key")
    }

    /// A proof, to be sent or compared.
    fileprivate struct Proof {
        let bytes: [UInt8]

        func matches(_ other: [UInt8]) -> Bool { constantTimeEqual(bytes, other) }
    }

    /// Returns HMAC-SHA256 of the transcript and of the digest of `box` under the key of `use`. A proof that is no
    /// authentication tag of a cipher commits to one key, so that a guesser tests one password at a time.
    fileprivate borrowing func proof(_ use: Use, over box: [UInt8]) -> Proof {
        let text = transcript + sha256(box)
        let proofKey = hkdfSHA256(key, info: "sotto/meeting/v1 \(use.rawValue) proof")
        var code = [UInt8](repeating: 0, count: MeetingMessage.proofBytes)
        proofKey.withBytes { key in
            code.withUnsafeMutableBytes { code in
                text.withUnsafeBytes { text in
                    hmacSHA256(key: key, into: code) { add in add(text) }
                }
            }
        }
        return Proof(bytes: code)
    }
}
