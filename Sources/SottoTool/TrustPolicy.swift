public import Arguments

/// `--trust`: the keys that are accepted.
public enum TrustPolicy: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// All keys.
    case any
    /// Keys of contacts, accepted on first use.
    case firstUse = "first-use"
    /// Keys that were compared with their owners.
    case verified

    /// Throws a usage error for a policy that needs contacts, if `stateless` leaves them out.
    public static func check(_ policy: TrustPolicy?, stateless: Bool) throws {
        guard !stateless || policy == nil || policy == .any else {
            throw UsageError("--stateless has no contacts, so only --trust any is possible")
        }
    }
}
