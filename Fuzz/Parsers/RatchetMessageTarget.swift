import Sotto

extension FuzzTarget {
    /// The payload of a ratchet message, and its `kem`. What is read is written and read back unchanged.
    static let ratchetMessage = FuzzTarget("ratchet-message") { bytes in
        guard let payload = object(bytes), let message = try? RatchetMessage(payload: payload)
        else { return }
        precondition((try? RatchetMessage(payload: message.payload)) == message)
        for hasCiphertext in [false, true] {
            guard let member = message.kem,
                let kem = try? RatchetKEM(member, hasCiphertext: hasCiphertext)
            else { continue }
            let again = try? RatchetKEM(.object(kem.object), hasCiphertext: hasCiphertext)
            precondition(again == kem)
        }
    }
}
