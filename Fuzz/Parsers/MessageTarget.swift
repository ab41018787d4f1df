import Sotto

extension FuzzTarget {
    /// A message's record, which is read as the same message again.
    static let message = FuzzTarget("message") { bytes in
        guard let record = object(bytes), let message = Message(record: record) else { return }
        precondition(Message(record: message.record) == message)
    }
}
