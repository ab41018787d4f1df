import SottoClient
import SottoState
import SottoTool

/// A validated command line of `send`.
enum SendPlan {
    case sending(Sending)
    case list(json: Bool, lockTimeout: Double)
    case drop(ids: [String], lockTimeout: Double)

    /// Checks the options. Throws ``RelayAddressError`` for a malformed address.
    init(_ tool: SendTool) throws(RelayAddressError) {
        let lockTimeout = tool.lock.timeout
        switch tool.mode {
        case .sending:
            self = .sending(
                Sending(
                    relay: try RelayChoice(tool.relay, authorities: tool.ca),
                    lockTimeout: lockTimeout, quiet: tool.quiet))
        case .list: self = .list(json: tool.json, lockTimeout: lockTimeout)
        case .drop: self = .drop(ids: tool.drop, lockTimeout: lockTimeout)
        }
    }

    func run() throws {
        switch self {
        case .sending(let sending): try sending.run()
        case .list(let json, let lockTimeout):
            try OutboxReport(lockTimeout: lockTimeout).list(json: json)
        case .drop(let ids, let lockTimeout):
            try OutboxReport(lockTimeout: lockTimeout).drop(ids)
        }
    }
}
