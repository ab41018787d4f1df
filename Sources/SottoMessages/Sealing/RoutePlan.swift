import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Selects the suite for each recipient.
struct RoutePlan {
    let method: Mailboxes.Method
    let own: KeyID?
    let sessions: SessionPlan
    let quiet: Bool

    /// Returns the suite for a recipient. The order is: the requested suite, an existing session, a session that can
    /// begin with a bundle that `recv` claimed, `sealed`.
    ///
    /// A message with a short time to live takes no step of a session: the relay may drop it. A session begins with a
    /// contact, or with a member of a group that gets the message.
    func suite(
        for person: Correspondent, in book: AddressBook, isShort: Bool, isMember: Bool = false
    ) throws -> Suite {
        switch method {
        case .sealed: return .sealed
        case .phrase: return .phrase
        case .ratchet:
            guard !isShort else {
                throw Failure(
                    .usage,
                    "--suite ratchet needs a time to live of at least \(Envelope.minimumSessionTTL) seconds",
                    hint: "omit --suite")
            }
            guard person.id != own else {
                throw Failure(
                    .usage, "a session with yourself is not possible", hint: "omit --suite")
            }
            return .ratchet
        case .best: if isShort { return .sealed }
        }
        if sessions.requires(person.id) { return .ratchet }
        if let suite = person.contact?.suite { return suite }
        let best = try book.view { state -> Suite in
            if try state.hasSession(with: person.id) { return .ratchet }
            guard person.contact != nil || isMember, person.id != own else { return .sealed }
            // A session without a post-quantum prekey would be weaker than a sealed message.
            let bundle = try state.freshBundle(of: person.id)
            return bundle?.pqSignedPreKey == nil ? .sealed : .ratchet
        }
        return best ?? .sealed
    }

    /// Reports the suite of a contact's messages once after each change. `isReported` is true if the beginning of a
    /// session was just reported. An error of the state is ignored, because no message depends on the note.
    func noteSuite(
        _ suite: Suite, of person: Correspondent, _ transaction: StateTransaction, isReported: Bool
    ) {
        guard person.contact != nil, person.id != own else { return }
        do {
            guard try transaction.lastSuite(of: person.id) != suite else { return }
            try transaction.noteSuite(suite, of: person.id)
        } catch {
            return
        }
        guard !isReported, !quiet else { return }
        let what =
            suite == .ratchet
            ? "ratchet, with forward secrecy"
            : "sealed, without forward secrecy: no session with \(person.name) exists"
        Terminal.note(
            "messages to \(person.name) have the suite \(what)")
    }
}
