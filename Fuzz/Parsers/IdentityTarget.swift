import Sotto

extension FuzzTarget {
    /// An identity file's record.
    static let identity = FuzzTarget("identity") { bytes in
        guard let record = object(bytes), let identity = try? Identity(record: record) else {
            return
        }
        precondition((try? Identity(record: identity.record))?.id == identity.id)
        _ = try? identity.mnemonic()
    }
}
