import Sotto
import SottoWire

extension FuzzTarget {
    /// The records of the relay's second protocol, and envelopes that get its form. One that is read is written and read
    /// back unchanged, and an envelope that has the form comes back from it.
    static let flowWire = FuzzTarget("flow-wire") { bytes in
        if let answer = FlowWire.response(bytes) { readBack(answer) }
        guard let record = object(bytes) else { return }
        if let envelope = try? FlowWire.envelope(of: record) {
            guard let message = FlowWire.message(of: envelope.bytes) else {
                preconditionFailure("the message of an envelope is none")
            }
            for line in [FlowWire.push(message), FlowWire.push(message, http: true)] {
                let again = object(Array(line.dropLast())).flatMap {
                    try? FlowWire.envelope(of: $0)
                }
                precondition(again == envelope)
            }
        }
        if let envelope = try? AddressedEnvelope(record),
            let message = FlowWire.message(of: envelope.bytes)
        {
            let again = object(message).flatMap { try? FlowWire.envelope(of: $0) }
            guard let again else { preconditionFailure("the message is not read") }
            precondition(object(again.bytes) == record)
        }
        if case .ack(let ids, let handled, nil)? = try? FlowWire.request(of: record) {
            precondition(ids.count == 1)
            for http in [false, true] {
                let line = FlowWire.acknowledgement(of: ids[0], handled, http: http)
                let again = object(Array(line.dropLast())).flatMap {
                    try? FlowWire.request(of: $0)
                }
                precondition(again == .ack(ids: ids, handled))
            }
        }
    }

    private static func readBack(_ answer: Response) {
        var written = answer
        if case .messages(let messages, let more) = answer {
            written = .messages(
                messages.map { delivered in
                    guard let message = FlowWire.message(of: delivered.envelope) else {
                        preconditionFailure("the message of an envelope is none")
                    }
                    return Delivered(sequence: delivered.sequence, envelope: message)
                }, more: more)
        }
        precondition(FlowWire.response(FlowWire.answer(written)) == answer)
    }
}
