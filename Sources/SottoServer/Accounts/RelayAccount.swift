import Sotto
import SottoProgram
import SottoWire

/// The data that a relay keeps about an id, apart from its mail.
struct RelayAccount: Sendable, Equatable {
    /// Whether the id was invited or admitted to a relay that is not open to all.
    var isMember = false
    /// Whether the id was a member and has been removed.
    var wasRemoved = false
    /// The minute, since 1970, of the owner's last activity; updated at most once a day.
    var minute: Int64 = 0
    /// The card, one line, or `nil`.
    var card: [UInt8]?
    /// The RSA login key, a SubjectPublicKeyInfo in DER, or `nil`.
    var loginKey: [UInt8]?

    /// Minutes without activity of the owner after which the account is deleted.
    static let lifeMinutes: Int64 = 366 * 24 * 60
    /// The least age, in minutes, of the noted activity before it is updated.
    static let signMinutes: Int64 = 24 * 60
}

/// A change to a ``RelayAccount``; if the id has no account, it creates one.
enum AccountUpdate: Sendable, Equatable {
    /// The owner logged in.
    case seen
    /// Makes the id a member, or ends its membership.
    case membership(Bool)
    /// Replaces the card: one line, its time of issue in seconds since 1970, and the names of its accounts. An older card
    /// changes nothing.
    case card([UInt8], issued: Int64, names: [CardName] = [])
    /// Replaces the login key, and its time of issue in seconds since 1970; empty revokes it. An older record changes
    /// nothing. Of two records of the same second the revocation wins, so that replaying a record never undoes it.
    case loginKey([UInt8], issued: Int64)
    /// Puts the revocation, one line, in place of the card and of the prekeys for ever: no time of issue is later, and no number
    /// of a signed prekey is higher.
    case revocation([UInt8])

    /// The update as the parameters of a statement; -1 leaves a column unchanged.
    var row: AccountRow {
        var row = AccountRow()
        switch self {
        case .seen: break
        case .membership(let isMember): row.member = isMember ? 1 : 2
        case .card(let line, let issued, let names):
            (row.card, row.cardIssued, row.names) = (line, issued, names)
        case .loginKey(let key, let issued): (row.loginKey, row.loginKeyIssued) = (key, issued)
        case .revocation(let line): (row.card, row.cardIssued) = (line, .max)
        }
        return row
    }

    /// The number of the signed prekey in whose place a revocation is: above those of publications, which have 32 bits.
    static let revokedKey: Int64 = 1 << 32
}

/// The id of an account in another messenger, by which a card is found: 16 bytes of its SHA-256.
struct CardName: Sendable, Hashable {
    let bytes: [UInt8]

    /// Creates the name of an account's id.
    init(_ id: String) { bytes = Array(sha256(Array(Card.accountName(id).utf8))[..<16]) }

    /// Creates the name by which the successions of an id are found. The hashed bytes are not UTF-8, so no account on a card has
    /// this name.
    init(successionsOf id: KeyID) { bytes = Array(sha256([0xFF] + id.publicKey)[..<16]) }
}

struct AccountRow {
    var member: Int64 = -1
    var card: [UInt8] = []
    var cardIssued: Int64 = -1
    var names: [CardName] = []
    var loginKey: [UInt8] = []
    var loginKeyIssued: Int64 = -1
}

/// An invitation as a store keeps it: enough to verify that a login has its code.
struct StoredInvitation: Sendable, Equatable {
    /// The 16 bytes that identify the invitation.
    let tag: [UInt8]
    /// The 32 bytes of the code's public key, which verifies the proof in a login.
    let key: [UInt8]
    /// The minute, since 1970, at which the invitation expires.
    var until: Int64
    /// The id that redeemed the invitation, or `nil`.
    var owner: KeyID?
    /// The name that the inviter gave the invited person, or an empty text.
    var label = ""
    /// The member who made the code, or `nil` for the operator.
    var inviter: KeyID?

    /// Whether a text may be a label: 1 to 64 bytes, without invisible characters. It stands in lists on terminals.
    static func isLabel(_ text: String) -> Bool {
        (1...WireLimits.labelBytes).contains(text.utf8.count)
            && !text.unicodeScalars.contains(where: \.isInvisible)
    }

    /// Minutes for which an expired invitation is kept. One that was redeemed is kept longer if it has a label, because it names
    /// a member, or an inviter, because it counts for the inviter's quota.
    static let keptMinutes: Int64 = 30 * 24 * 60
}
