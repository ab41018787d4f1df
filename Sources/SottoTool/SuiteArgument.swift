public import Arguments
public import Sotto

/// The value of `--suite`. A group is not chosen by its suite.
extension Suite: ExpressibleByArgument {
    /// Parses the name of a suite.
    public init?(argument: String) {
        guard let suite = Suite(rawValue: argument), suite != .group else { return nil }
        self = suite
    }

    /// The names of the suites.
    public static var allArguments: [String] {
        Suite.allCases.filter { $0 != .group }.map(\.rawValue)
    }
}
