/// The method that protects a message. The envelope names it.
public enum Suite: String, Sendable, CaseIterable {
    /// An age file to the recipient's key with a signed stream inside, bound to its audience.
    case sealed
    /// A Double Ratchet session that begins with PQXDH or X3DH.
    case ratchet
    /// A key from a shared phrase, by Argon2id.
    case phrase
    /// SHAiny's chats, for exchange with SHAiny.
    case shainy
    /// Whisper2's messages, for exchange with Whisper2.
    case whisper2
    /// Mercurio's messages, for exchange with Mercurio.
    case mercurio

    /// The type that makes and opens its messages, or `nil` for the suite that needs a session.
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

    /// The properties of the suite.
    public var traits: SuiteTraits { messageSuite?.traits ?? PeerSession.traits }
}

/// The properties of a suite.
public struct SuiteTraits: Sendable {
    /// The members of a payload that the suite interprets.
    let payloadMembers: [String]
    /// Whether the authenticated content repeats the envelope's id, recipient and time.
    let bindsEnvelope: Bool
    /// Whether its messages are for all who know a phrase, and not for one recipient.
    public let isOfChat: Bool
    /// The reason to use the suite only for exchange with its messenger: one sentence without a full stop, or `nil` for
    /// Sotto's own suites.
    public let legacyReason: String?
    /// The protection in the order of ``columns``.
    public let protection: [String]

    /// The columns of the table of suites.
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

    /// The table of all suites for users: one line for each, without trailing spaces.
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
