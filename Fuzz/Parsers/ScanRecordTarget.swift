import SottoQR

extension FuzzTarget {
    /// A record of the program that reads pictures. What is read is written and read back unchanged.
    static let scanRecord = FuzzTarget("scan-record") { bytes in
        if let reply = ScanReply(parsing: bytes) {
            precondition(ScanReply(parsing: Array(reply.line.dropLast())) == reply)
        }
        if let request = ScanRequest(parsing: bytes) {
            precondition(ScanRequest(parsing: Array(request.line.dropLast())) == request)
        }
    }
}
