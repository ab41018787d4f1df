public import Arguments

/// `--trust`: whose keys are good enough.
public enum TrustPolicy: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Anybody's.
    case any
    /// Those in the address book, taken when they were first seen.
    case firstUse = "first-use"
    /// Those compared with their owners.
    case verified
}
