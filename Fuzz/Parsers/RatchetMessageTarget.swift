import Sotto

extension FuzzTarget {
    /// The payload of a ratchet message. One that is read is written and read back unchanged.
    static let ratchetMessage = FuzzTarget("ratchet-message") { bytes in
        guard let payload = object(bytes), let message = try? RatchetMessage(payload: payload)
        else { return }
        precondition((try? RatchetMessage(payload: message.payload)) == message)
    }
}
