import Sotto
import SottoWire

/// What a relay knows of an id beside its mail.
struct Account: Sendable, Equatable {
    /// Whether it was invited or admitted to a relay that is not open to all.
    var isMember = false
    /// Whether it was a member, and was removed.
    var wasRemoved = false
    /// The minute, since 1970, of the last sign of its owner, no finer than a day.
    var minute: Int64 = 0
    /// The line of its card; `nil` without one.
    var card: [UInt8]?
    /// Its RSA login key, a SubjectPublicKeyInfo in DER; `nil` without one.
    var loginKey: [UInt8]?

    /// Minutes without a sign of the owner after which what is known of an id is forgotten.
    static let lifeMinutes: Int64 = 366 * 24 * 60
    /// How old a sign must be, in minutes, to be noted anew.
    static let signMinutes: Int64 = 24 * 60
}

/// A change to an ``Account``, which is made if there is none.
enum AccountUpdate: Sendable, Equatable {
    /// Its owner was here.
    case seen
    /// It is a member from now on, or is not.
    case membership(Bool)
    /// Its card, one line, issued so many seconds after 1970; an older one changes nothing.
    case card([UInt8], issued: Int64)
    /// Its login key, or none when empty, issued so many seconds after 1970; an older one changes nothing. Of the
    /// same second, none is the later one: what was revoked stays so, whoever repeats it.
    case loginKey([UInt8], issued: Int64)

    /// The update that a record of the owner's is.
    init(_ record: OwnersRecord) {
        self =
            switch record.kind {
            case .card: .card(record.bytes, issued: record.issued.seconds)
            case .loginKey(let key): .loginKey(key ?? [], issued: record.issued.seconds)
            }
    }

    /// The update as the parameters of a statement, where -1 leaves something as it is.
    var row: AccountRow {
        var row = AccountRow()
        switch self {
        case .seen: break
        case .membership(let isMember): row.member = isMember ? 1 : 2
        case .card(let line, let issued): (row.card, row.cardIssued) = (line, issued)
        case .loginKey(let key, let issued): (row.loginKey, row.loginKeyIssued) = (key, issued)
        }
        return row
    }
}

/// The parameters of a change to an account.
struct AccountRow {
    var member: Int64 = -1
    var card: [UInt8] = []
    var cardIssued: Int64 = -1
    var loginKey: [UInt8] = []
    var loginKeyIssued: Int64 = -1
}

/// An invitation as a store has it: enough to verify that somebody has its code.
struct StoredInvitation: Sendable, Equatable {
    /// 16 bytes by which it is found.
    let tag: [UInt8]
    /// The 32 bytes of the code's public key, which verify a login's proof.
    let key: [UInt8]
    /// The minute, since 1970, at which it ends.
    let until: Int64
    /// Who redeemed it.
    var owner: SessionID?

    /// Minutes for which an invitation that ended is kept.
    static let keptMinutes: Int64 = 30 * 24 * 60
}
