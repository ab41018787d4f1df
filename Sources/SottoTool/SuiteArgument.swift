public import Arguments
public import Sotto

/// The messages that `bridge` makes and opens.
public enum BridgeFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case shainy, whisper2, mercurio
    /// A ratchet message of Kecalek alone, without ids and time.
    case kecalek
    /// A ratchet message in a record of Message Flow.
    case flow
}

/// The value of `--suite`: a suite, or a messenger's format, which is refused with the command that makes it.
public enum SuiteArgument: ExpressibleByArgument, Sendable {
    case suite(Suite)
    case bridge(BridgeFormat)

    /// Parses the name of a suite or of a format.
    public init?(argument: String) {
        if let suite = Suite(rawValue: argument), suite != .group {
            self = .suite(suite)
        } else if let format = BridgeFormat(rawValue: argument) {
            self = .bridge(format)
        } else {
            return nil
        }
    }

    /// The names of the suites. A group is not chosen by its suite.
    public static var allArguments: [String] {
        Suite.allCases.filter { $0 != .group }.map(\.rawValue)
    }
}
