public import Arguments
public import SottoTool

/// The options that decide whose messages are printed.
public struct SenderOptions: ArgumentGroup {
    /// The cards or contacts of which one must have signed.
    @Option(
        "--from", value: "card",
        help:
            "Require the signature of this card's owner or this contact; may be repeated to accept one of several."
    )
    public var from: [String] = []

    /// The senders whose messages are printed; `nil` for the default.
    @Option(
        "--trust", value: "policy",
        help:
            "Print messages of these senders: any, first-use (contacts) or verified (compared contacts). "
            + "Default: first-use if you have contacts. Others wait as requests.")
    public var trust: TrustPolicy?

    /// Creates the options with none given.
    public init() {}
}
