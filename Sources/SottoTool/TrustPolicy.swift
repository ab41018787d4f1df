public import Arguments

/// `--trust`: the keys that are accepted.
public enum TrustPolicy: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// All keys.
    case any
    /// Keys of contacts, accepted on first use.
    case firstUse = "first-use"
    /// Keys that were compared with their owners.
    case verified
}
