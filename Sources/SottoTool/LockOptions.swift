public import Arguments

/// `--lock-timeout`: how long another process is waited for.
public struct LockOptions: ArgumentGroup {
    @Option(
        "--lock-timeout", value: "seconds",
        help: "Wait so long for another process that uses the state.", values: .any)
    var seconds = 10.0

    /// Seconds, 0 to 1,000,000.
    public var timeout: Double { seconds }

    /// The default.
    public init() {}

    /// Throws for a time out of range.
    public func validate() throws {
        guard (0...1_000_000).contains(seconds) else {
            throw UsageError("--lock-timeout is 0 to 1000000 seconds")
        }
    }
}
