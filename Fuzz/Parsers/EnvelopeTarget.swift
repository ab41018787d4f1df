import Sotto

extension FuzzTarget {
    /// An envelope. Its record is read back unchanged, and it is opened.
    static let envelope = FuzzTarget("envelope") { bytes in
        guard let record = object(bytes), let envelope = try? Envelope(record: record) else {
            return
        }
        precondition((try? Envelope(record: envelope.record)) == envelope)
        _ = try? Sealed.open(envelope, with: reader)
        let arrived = envelope.arrived(for: reader)
        precondition(arrived.to == nil || arrived.to == reader.id)
    }
}
