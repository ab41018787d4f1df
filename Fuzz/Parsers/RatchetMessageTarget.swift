import Sotto

extension FuzzTarget {
    /// A ratchet message's payload, which is read as the same message again.
    static let ratchetMessage = FuzzTarget("ratchet-message") { bytes in
        guard let payload = object(bytes), let message = try? RatchetMessage(payload: payload)
        else { return }
        precondition((try? RatchetMessage(payload: message.payload)) == message)
    }
}
