/// How a message is protected. Named in the envelope, never guessed.
public enum Suite: String, Sendable, CaseIterable {
    /// An age file to the recipient's key with a signed stream inside, bound to its audience.
    case sealed
    /// A Double Ratchet session, begun by PQXDH or X3DH.
    case ratchet
    /// A phrase that people share, through Argon2id.
    case phrase
    /// SHAiny's chats, for exchange with it.
    case shainy
    /// Whisper2's messages, for exchange with it.
    case whisper2
    /// Mercurio's messages, for exchange with it.
    case mercurio

    /// What makes and opens its messages; `nil` for the suite that needs a session.
    public var messageSuite: (any MessageSuite.Type)? {
        switch self {
        case .sealed: Sealed.self
        case .ratchet: nil
        case .phrase: PhraseSuite.self
        case .shainy: ShainySuite.self
        case .whisper2: Whisper2Suite.self
        case .mercurio: MercurioSuite.self
        }
    }

    /// What is to be known of it.
    public var traits: SuiteTraits { messageSuite?.traits ?? PeerSession.traits }
}

/// What is to be known of a suite.
public struct SuiteTraits: Sendable {
    /// The members of a payload that the suite gives a meaning.
    let payloadMembers: [String]
    /// Whether the envelope's id, recipient and time are repeated inside what is authenticated.
    let bindsEnvelope: Bool
    /// Whether its messages are for all who know a phrase, and not for somebody.
    public let isOfChat: Bool
    /// Why it should not be used but for exchange with the messenger that it comes from, in one sentence without a full
    /// stop; `nil` for our own.
    public let legacyReason: String?
    /// What it protects, in the order of ``columns``.
    public let protection: [String]

    /// What is told of each suite's protection.
    public static let columns = [
        "hides text", "proves sender", "fwd. secrecy", "post-quantum", "hides length",
    ]

    init(
        payloadMembers: [String], bindsEnvelope: Bool, isOfChat: Bool = false,
        legacyReason: String? = nil, protection: [String]
    ) {
        self.payloadMembers = payloadMembers
        self.bindsEnvelope = bindsEnvelope
        self.isOfChat = isOfChat
        self.legacyReason = legacyReason
        self.protection = protection
    }

    /// The table of all suites, for people: a line for each, without trailing spaces.
    public static var table: [String] {
        let rows =
            [["suite"] + columns] + Suite.allCases.map { [$0.rawValue] + $0.traits.protection }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max()! }
        return rows.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
