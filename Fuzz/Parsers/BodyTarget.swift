import Sotto

extension FuzzTarget {
    /// The body of a message. One that is read is written and read back unchanged.
    static let body = FuzzTarget("body") { bytes in
        guard let record = object(bytes), let body = try? MessageBody(record, isLocal: true)
        else { return }
        precondition((try? MessageBody(body.record, isLocal: true)) == body)
    }
}
