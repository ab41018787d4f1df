import Sotto

extension FuzzTarget {
    /// The code and the records of a meeting. What is read is written and read back unchanged.
    static let meeting = FuzzTarget("meeting") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let code = try? MeetingCode(parsing: text) {
            let written = code.text(address: code.address)
            let again = try? MeetingCode(parsing: written)
            precondition(again?.text(address: code.address) == written)
        }
        if let message = try? MeetingMessage(stored: bytes) {
            precondition((try? MeetingMessage(stored: message.stored)) == message)
        }
        guard let object = object(bytes), let record = try? MeetingRecord(object) else { return }
        precondition((try? MeetingRecord(record.record)) == record)
        guard case .message(let message) = record.content else { return }
        let code = MeetingCode(randomFor: record.number)
        // Nobody knows the code.
        if let keys = try? MeetingKeys(joining: message, code, relay: record.relay) {
            precondition((try? keys.open(message)) == nil)
        }
        precondition(
            (try? MeetingInitiator(code, relay: record.relay).keys(message)) == nil)
    }
}
