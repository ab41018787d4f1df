import SottoClient
import SottoState
import SottoTool

/// A validated command line of `send`.
enum SendPlan {
    case sending(Sending)
    case list(isText: Bool, lockTimeout: Double)
    case drop(ids: [String], isText: Bool, lockTimeout: Double)

    /// Checks the options. Throws ``RelayAddressError`` for a malformed address.
    init(_ tool: SendTool) throws(RelayAddressError) {
        let lockTimeout = tool.lock.timeout
        switch tool.mode {
        case .sending:
            self = .sending(
                Sending(
                    relay: try RelayChoice(
                        tool.relay, authorities: tool.ca, form: tool.wire),
                    lockTimeout: lockTimeout,
                    form: SendForm(
                        isText: tool.form.isText, namesIDs: tool.verbose, isQuiet: tool.quiet)))
        case .list: self = .list(isText: tool.form.isText, lockTimeout: lockTimeout)
        case .drop: self = .drop(ids: tool.drop, isText: tool.form.isText, lockTimeout: lockTimeout)
        }
    }

    func run() throws {
        switch self {
        case .sending(let sending): try sending.run()
        case .list(let isText, let lockTimeout):
            try OutboxReport(lockTimeout: lockTimeout).list(isText: isText)
        case .drop(let ids, let isText, let lockTimeout):
            try OutboxReport(lockTimeout: lockTimeout).drop(ids, isText: isText)
        }
    }
}
