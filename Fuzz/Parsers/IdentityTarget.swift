import Sotto

extension FuzzTarget {
    /// The record of an identity file.
    static let identity = FuzzTarget("identity") { bytes in
        guard let record = object(bytes), let identity = try? Identity(record: record) else {
            return
        }
        precondition((try? Identity(record: identity.record))?.id == identity.id)
        _ = try? identity.mnemonic()
    }
}
