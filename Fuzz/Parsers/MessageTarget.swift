import Sotto

extension FuzzTarget {
    /// A message record. One that is read is written and read back unchanged.
    static let message = FuzzTarget("message") { bytes in
        guard let record = object(bytes), let message = Message(record: record) else { return }
        precondition(Message(record: message.record) == message)
    }
}
