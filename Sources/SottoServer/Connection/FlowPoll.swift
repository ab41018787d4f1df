import Sotto
import SottoWire

/// A poll of a client with ``RelayProtocol/flow``: the oldest envelopes of a mailbox that have the form of a message.
///
/// A mailbox may have many envelopes without that form, so one poll may need many reads. Those of other connections come
/// between them.
struct FlowPoll: Sendable {
    /// The bytes of an answer, at most.
    static let weight = WireLimits.fetchBytes

    let mailbox: KeyID
    /// The id of the request.
    let requestID: String?
    /// The sequence number of the last envelope that was read.
    private(set) var after: Int64 = 0
    /// The messages so far.
    private(set) var messages: [Delivered] = []
    /// Whether the answer is full, or no envelope is left.
    private(set) var isComplete = false
    private var bytes = 0

    /// Creates a poll that has read nothing.
    init(of mailbox: KeyID, to requestID: String?) {
        (self.mailbox, self.requestID) = (mailbox, requestID)
    }

    /// Takes the next envelopes.
    mutating func take(_ page: Page) {
        for message in page.messages {
            after = message.delivered.sequence
            guard let delivered = message.delivered.form(.flow) else { continue }
            bytes += delivered.envelope.count
            guard messages.isEmpty || bytes <= Self.weight else {
                isComplete = true
                return
            }
            messages.append(delivered)
            guard messages.count < WireLimits.fetchCount else {
                isComplete = true
                return
            }
        }
        isComplete = !page.hasMore || page.messages.isEmpty
    }
}

extension Delivered {
    /// Returns the envelope in the form of a protocol, or `nil` if it has no such form.
    func form(_ form: RelayProtocol) -> Delivered? {
        switch form {
        case .own: self
        case .flow:
            FlowWire.message(of: envelope).map { Delivered(sequence: sequence, envelope: $0) }
        }
    }
}
