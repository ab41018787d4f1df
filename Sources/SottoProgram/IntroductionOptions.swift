public import Arguments

/// The options of `sotto add` and `contact introduce`.
public struct IntroductionOptions: ArgumentGroup {
    /// The name of the contact, or `nil` for the name on the card.
    @Option(
        "--name", value: "name", help: "The name of the contact. Default: the name on the card.",
        values: .any)
    public var name: String?

    /// The address of the relay to ask for the signed card, or `nil`.
    @Option(
        "--relay", value: "url",
        help:
            "The relay to ask for the signed card. Default: $SOTTO_RELAY, else the one on the card, else yours."
    )
    public var relay: String?

    /// A card, a URI, also of an account in another messenger, a picture or an id.
    @Argument(
        "who",
        help:
            "A card file, a URI, a picture of a QR code, or an id; `-` is stdin."
    )
    public var who: String

    /// Creates the options with none given.
    public init() {}
}
