public import Arguments
public import SottoWire

/// The ways to use `send`, with the options of each. An option that a mode does not list is refused in it.
enum SendMode: String, CommandMode {
    case sending = ""
    case list = "--list"
    case drop = "--drop"

    var title: String { self == .sending ? "sending envelopes" : rawValue }

    var takes: String {
        switch self {
        case .sending: "--relay --ca --protocol --text --json -v --lock-timeout -q"
        case .list: "--list --text --json --lock-timeout"
        case .drop: "--drop --text --json --lock-timeout"
        }
    }
}

extension SendTool {
    /// The mode that the options select.
    var mode: SendMode {
        if list { return .list }
        return drop.isEmpty ? .sending : .drop
    }
}

extension RelayProtocol: ExpressibleByArgument {}
