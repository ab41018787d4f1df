public import Arguments
public import Sotto

extension Timestamp: ExpressibleByArgument {
    /// Parses an RFC 3339 time in UTC.
    public init?(argument: String) { self.init(argument) }
}
