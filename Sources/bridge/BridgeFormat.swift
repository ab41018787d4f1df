import Arguments

/// The messages that `bridge` makes and opens.
enum BridgeFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case shainy, whisper2, mercurio
    /// A ratchet message of Kecalek alone, without ids and time.
    case kecalek
    /// A ratchet message in a record of Message Flow.
    case flow
}
