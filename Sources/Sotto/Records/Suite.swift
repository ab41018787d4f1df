/// The method that protects a message. The envelope names it.
public enum Suite: String, Sendable, CaseIterable {
    /// An age file to the recipient's key with a signed stream inside, bound to its audience.
    case sealed
    /// A Double Ratchet session that begins with PQXDH or X3DH.
    case ratchet
    /// A key from a shared phrase, by Argon2id.
    case phrase
    /// A chain of keys that a member of a group gives to the other members over sessions.
    case group

    /// The properties of the suite.
    public var traits: SuiteTraits {
        switch self {
        case .sealed:
            SuiteTraits(payloadMembers: ["age"], protection: ["yes", "yes", "no", "yes", "yes"])
        case .ratchet:
            SuiteTraits(
                payloadMembers: [
                    "ciphertext", "ratchetPublicKey", "chainLength", "previousChainLength",
                    "preKey",
                ], protection: ["yes", "yes", "yes", "yes", "yes"])
        case .phrase:
            SuiteTraits(
                payloadMembers: ["chat", "text"], isOfChat: true,
                protection: ["by phrase", "no", "no", "yes", "yes"])
        case .group:
            SuiteTraits(
                payloadMembers: ["tag", "box"], protection: ["yes", "yes", "yes", "as sent", "yes"])
        }
    }
}

/// The properties of a suite.
public struct SuiteTraits: Sendable {
    /// The members of a payload that the suite interprets.
    package let payloadMembers: [String]
    /// Whether its messages are for all who know a phrase, and not for one recipient.
    public let isOfChat: Bool
    /// The protection in the order of ``columns``.
    public let protection: [String]

    /// The columns of the table of suites.
    public static let columns = [
        "hides text", "proves sender", "fwd. secrecy", "post-quantum", "hides length",
    ]

    init(
        payloadMembers: [String], isOfChat: Bool = false, protection: [String]
    ) {
        self.payloadMembers = payloadMembers
        self.isOfChat = isOfChat
        self.protection = protection
    }

    /// The table of all suites for users: one line for each, without trailing spaces.
    public static var table: [String] {
        table(Suite.allCases.map { [$0.rawValue] + $0.traits.protection })
    }

    /// Returns a table for users with the heading of ``table``.
    package static func table(_ suites: [[String]]) -> [String] {
        let rows = [["suite"] + columns] + suites
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

/// The name of the protection of an opened message: a ``Suite``, or a messenger's own format.
public struct SuiteName: RawRepresentable, Sendable, Hashable {
    /// The name in the record.
    public let rawValue: String

    /// Creates a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates the name of a suite.
    public init(_ suite: Suite) { rawValue = suite.rawValue }

    /// ``Suite/sealed``.
    public static let sealed = SuiteName(.sealed)
    /// ``Suite/ratchet``.
    public static let ratchet = SuiteName(.ratchet)
    /// ``Suite/phrase``.
    public static let phrase = SuiteName(.phrase)
    /// ``Suite/group``.
    public static let group = SuiteName(.group)
}
