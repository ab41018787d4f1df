public import Arguments

/// `--lock-timeout`: the time to wait for another process.
public struct LockOptions: ArgumentGroup {
    /// The default in seconds, for a command without the option.
    public static let standardTimeout = 10.0

    @Option(
        "--lock-timeout", value: "seconds",
        help: "Wait at most this long for another process that uses the state.", values: .any)
    var seconds = Self.standardTimeout

    /// Seconds, 0 to 1,000,000.
    public var timeout: Double { seconds }

    /// Creates the options with the default.
    public init() {}

    /// Throws if the time is out of range.
    public func validate() throws {
        guard (0...1_000_000).contains(seconds) else {
            throw UsageError("--lock-timeout must be 0 to 1000000 seconds")
        }
    }
}
