package import Sotto
package import SottoState
import SottoTool

/// A line of the input with its parsed content.
package struct ReadLine<Content: Sendable>: Sendable {
    package let number: Int
    /// The bytes of the line.
    package let bytes: [UInt8]
    /// The parsed content, or the failure of parsing it.
    package let content: Result<Content, Failure>
    /// The id that the line claims.
    package let id: String?
}

/// The meaning of a line when the address book is known.
package enum ResolvedLine {
    /// An envelope, and the record that waits if it becomes a message request; `nil` for the envelope's own.
    case envelope(ParsedEnvelope, waiting: JSONObject? = nil)
    /// A message in a messenger's own format.
    case foreign(ForeignMessage)
    /// A record that is not a message.
    case record(JSONObject)
    /// A succession or a revocation.
    case news(IdentityNews)
}

/// An envelope with the values that need no state. It is a class because copies of it are made often.
package final class ParsedEnvelope: Sendable {
    package let envelope: Envelope
    /// ``Envelope/digest``.
    package let digest: [UInt8]
    /// The parsed payload of an envelope of a session.
    package let arrival: SessionArrival?

    /// Creates the value; `digest` replaces the envelope's own digest.
    package init(_ envelope: Envelope, digest: [UInt8]? = nil) {
        self.envelope = envelope
        self.digest = digest ?? envelope.digest
        arrival = SessionArrival(envelope)
    }
}

/// A message in a messenger's own format.
package struct ForeignMessage {
    package let id: String
    package let time: Timestamp
    /// The name of the messenger.
    package let suite: SuiteName
    /// The hash of what its format interprets.
    package let digest: [UInt8]
    /// The value that the message shares with its repeats.
    package let repeatID: String
    /// The record that waits if it becomes a message request.
    package let waiting: JSONObject
    /// The sender if the message cannot be opened before the sender's keys are known; else `nil`.
    package let unknownSender: UnknownSender?
    package let open: () throws -> Message
    /// Stores the changes that opening the message makes, if it is accepted.
    package let keep: (StateTransaction) throws -> Void

    package init(
        id: String, time: Timestamp, suite: SuiteName, digest: [UInt8], repeatID: String,
        waiting: JSONObject, unknownSender: UnknownSender? = nil,
        keep: @escaping (StateTransaction) throws -> Void = { _ in },
        open: @escaping () throws -> Message
    ) {
        self.unknownSender = unknownSender
        (self.id, self.time, self.suite) = (id, time, suite)
        (self.digest, self.repeatID, self.waiting) = (digest, repeatID, waiting)
        (self.keep, self.open) = (keep, open)
    }
}

/// The lines that a tool reads as messages.
package protocol MessageInput: AnyObject, SendableMetatype {
    associatedtype Content: Sendable
    /// A parsed line, and the id that it claims.
    typealias Parsed = (content: Result<Content, Failure>, id: String?)

    /// Parses a line on any thread; `nil` if ``read(_:)`` must be called on one thread.
    var parser: (@Sendable ([UInt8]) throws -> Parsed?)? { get }

    /// Parses a line. Returns `nil` for white space.
    func read(_ bytes: [UInt8]) throws -> Parsed?

    /// Returns the records of a line that has several messages, or `nil` for any other line.
    func records(ofLine bytes: [UInt8]) -> [[UInt8]]?

    /// Returns the envelope of a line that needs no contact to be understood, or `nil`.
    func envelope(of content: Content) -> ParsedEnvelope?

    /// Returns what a line means. `transaction` has the address book; it is `nil` without a state.
    func resolve(_ content: Content, _ transaction: StateTransaction?) throws -> ResolvedLine

    /// Takes the keys out of an accepted message that has some, and stores them unless it is a preview. Returns the message as
    /// it is printed and recorded, or `nil` for another message.
    func taken(
        _ message: Message, isPreview: Bool, _ transaction: StateTransaction
    ) throws -> Message?

    /// Takes the results of a batch after they were printed.
    func finish(_ batch: [ReadLine<Content>], _ results: [OpenedLine]) throws
}

extension MessageInput {
    package var parser: (@Sendable ([UInt8]) throws -> Parsed?)? { nil }

    package func records(ofLine bytes: [UInt8]) -> [[UInt8]]? { nil }

    package func envelope(of content: Content) -> ParsedEnvelope? { nil }

    package func taken(
        _ message: Message, isPreview: Bool, _ transaction: StateTransaction
    ) throws -> Message? { nil }

    package func finish(_ batch: [ReadLine<Content>], _ results: [OpenedLine]) throws {}
}

/// A message of an unknown sender, which waits for the user's decision.
package struct WaitingRequest: Sendable {
    let id: String
    let from: KeyID
    let time: Timestamp
    let suite: String
    /// The sender's account in another messenger, if no key of the sender is known.
    let account: String?
}

/// The result of opening a line.
package indirect enum OpenedLine: Sendable {
    /// A message, and its number in the state if it is stored.
    case message(Message, number: Int64?, seen: Bool)
    case request(WaitingRequest)
    /// A message of a blocked sender.
    case dropped
    /// A record that is not a message.
    case record(JSONObject)
    /// `claimed` is the peer from whom an envelope of a lost session claims to be, which is not authenticated.
    case failed(Failure, id: String?, isFinal: Bool, claimed: KeyID? = nil)

    /// Whether opening the same line again would give the same result.
    var isFinal: Bool { if case .failed(_, _, let isFinal, _) = self { isFinal } else { true } }
}
