public import Sotto
public import SottoState
import SottoTool

extension NewsOutcome {
    /// The report for the user: a failure with status 12, or with status 1 if the record is about an unknown id; `nil` if nothing is
    /// to be decided.
    public var failure: Failure? {
        switch self {
        case .unknown(let id):
            Failure(
                .no, "the record is about \(id), which is not a contact; nothing was stored",
                hint: "list the contacts: sotto contact list")
        case .known: nil
        case .offered(let contact, let succession):
            Failure(
                .untrusted,
                "\(contact.name) has a new key, \(succession.next.short)…, and the old key signed it on \(succession.issued); no messages are sent to \(contact.name) until you decide",
                hint:
                    "a thief of the old key can sign one too: ask \(contact.name) on another channel, then: \(contact.acceptKeyCommand), or sotto contact keep-key \(shellWord(contact.name))"
            )
        case .forked(let contact):
            Failure(
                .untrusted,
                "the old key of \(contact?.name ?? "a former contact") signed two new keys, so neither counts: an attacker may have the key",
                hint: contact.map {
                    "compare the safety number with \($0.name) on another channel: sotto contact show \(shellWord($0.name))"
                })
        case .revoked(let id, let contacts):
            Failure(
                .untrusted,
                "the id \(id.short)…"
                    + (contacts.isEmpty
                        ? "" : " of \(contacts.map(\.name).joined(separator: " and "))")
                    + " is revoked by its owner: nothing is sent to it, and no succession of it counts",
                hint: "ask its owner on another channel for a card of another id")
        case .refused(let succession, let refusal):
            Failure(
                .untrusted,
                "the succession of \(succession.former.short)… by \(succession.next.short)… is not taken: \(refusal.words)"
            )
        case .own(.succession(let succession)):
            Failure(
                .untrusted,
                "your own key signed on \(succession.issued) that \(succession.next) replaces it; if that was not you, an attacker has your words",
                hint:
                    "revoke the id with the sheet that you made in advance: MY WORDS WERE SEEN in sotto(7)"
            )
        case .own(.revocation(let revocation)):
            Failure(
                .untrusted,
                "this identity is revoked: its revocation of \(revocation.issued) is known, and contacts refuse it",
                hint: "make a new one: sotto keygen -o FILE, and give its card to your contacts")
        }
    }
}

extension StateTransaction {
    /// Throws a failure with status 12 if the owner's identity is known to be revoked.
    package func checkRevocation() throws {
        guard try isRevoked(owner.id), let revocation = try news(of: owner.id).revocation,
            let failure = NewsOutcome.own(.revocation(revocation)).failure
        else { return }
        throw failure
    }
}

extension NewsRefusal {
    fileprivate var words: String {
        switch self {
        case .revoked: "the old id is revoked, which voids every succession"
        case .successorRevoked: "the new id is revoked"
        case .loop: "the new id is your own, or was itself replaced by the old one"
        }
    }
}

extension Contact {
    /// The failure for a key that is in doubt, status 12; `nil` for another one.
    public var doubtFailure: Failure? {
        switch doubt {
        case nil: nil
        case .revoked:
            Failure(
                .untrusted, "the key of \(name) is revoked by its owner",
                hint: "ask \(name) on another channel for a card of another id")
        case .void:
            Failure(
                .untrusted,
                "the key of \(name) was accepted because an old key signed it, and the old key is revoked now",
                hint: "compare the safety number: sotto contact show \(shellWord(name))")
        case .fork:
            Failure(
                .untrusted,
                "the key of \(name) was accepted because an old key signed it, and the old key signed another one too",
                hint: "compare the safety number: sotto contact show \(shellWord(name))")
        }
    }
}
