import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool
import SottoWire

/// The two sides of a meeting, and the contact that it makes.
struct MetContact {
    /// The name of `--name`.
    let name: String?
    let open: OpenBook
    let options: ContactOptions

    // MARK: The sides

    /// Makes a code, shows it, and waits for the other person.
    func initiate(at table: MeetingTable) throws {
        let code = MeetingCode(randomFor: table.number)
        let initiator = MeetingInitiator(code, relay: table.relay.name)
        try table.send(initiator.offer)
        try show(code, table.relay)
        guard let answer = try table.next() else { throw Failure(.alone) }
        if answer == .end { throw Failure(.byOther) }
        let keys = try table.endingIfFailed { try initiator.keys(answer) }
        try table.send(keys.seal(ownCard()))
        guard let last = try table.next() else { throw Failure(.halfway(byOther: false)) }
        if last == .end { throw Failure(.halfway(byOther: true)) }
        let card = try table.endingIfFailed { try keys.open(last) }
        table.releaseInterrupt()
        do { try store(card) } catch {
            throw Failure(
                halfway: (error as? Failure) ?? Failure(core: error)
                    ?? Failure(.bug, "unexpected error of a meeting"))
        }
    }

    /// Joins the meeting whose initiator said the code.
    func join(_ offer: MeetingMessage, with heard: HeardCode, at table: MeetingTable) throws {
        guard heard.code.number == table.number else {
            throw Failure(.usage, "the code is for another meeting than \(table.number)")
        }
        let keys = try table.endingIfFailed {
            try MeetingKeys(joining: offer, heard.code, relay: table.relay.name)
        }
        try table.send(keys.answer)
        guard let first = try table.next() else { throw Failure(.alone) }
        if first == .end { throw Failure(.byOther) }
        // The contact is on disk before the own card leaves.
        try table.endingIfFailed {
            let card = try keys.open(first)
            table.releaseInterrupt()
            try store(card)
        }
        try table.send(keys.seal(ownCard()))
    }

    /// Returns the card for the other person. On a device of a private list it throws a failure with status 64.
    func ownCard() throws -> Card {
        try open.book.store()?.preview { try $0.ownCard(issued: .now()) }
            ?? open.identity.card(issued: .now())
    }

    private func show(_ code: borrowing MeetingCode, _ relay: RelayURL) throws {
        try Terminal.tell("Say this code to the other person:")
        try Terminal.tell("")
        try Terminal.tell("  \(code.text())")
        if let address = relay.meetingAddress {
            try Terminal.tell("  \(code.text(address: address))    from another relay")
        }
        try Terminal.tell("")
        if !options.quiet { Terminal.say("Waiting for the other person, at most ten minutes…") }
    }

    // MARK: The contact

    /// Stores a card that the meeting authenticated, as a verified contact. A contact with another key, and a blocked one,
    /// is never replaced: the user decides.
    private func store(_ card: Card) throws {
        let store = try open.book.writableStore()
        let known = try store.contact(id: card.id)
        let mayUnblock =
            known?.isBlocked == true && agrees("\(known?.shownName ?? "") is blocked. Unblock it?")
        if !mayUnblock { try Self.refuseBlocked(known) }
        let isKnown = known?.name.isEmpty == false
        let keepsName = isKnown || card.id == open.identity.id
        let name = try keepsName ? self.name : chosenName(card, store)
        let (outcome, verified) = try store.transaction { transaction -> (Introduction, Contact?) in
            let known = try transaction.contact(id: card.id)
            if !mayUnblock { try Self.refuseBlocked(known) }
            // Another program can have added a contact with the name since it was chosen.
            let isNew = known?.name.isEmpty != false && card.id != transaction.owner.id
            if isNew { _ = try transaction.freeName(name, for: card, hint: Self.nameHint) }
            let outcome = try transaction.introduce(card, as: name, accounts: open.book.accounts)
            if case .changed = outcome { return (outcome, nil) }
            guard var contact = try transaction.contact(id: card.id) else {
                throw Failure(.bug, "the new contact is missing")
            }
            if contact.trust != .verified {
                try transaction.recordSystem(.verified, about: contact.id)
            }
            (contact.trust, contact.isBlocked) = (.verified, false)
            try transaction.save(contact)
            return (outcome, contact)
        }
        guard let verified else {
            return try AddCommand.report(
                outcome, givenName: name, what: "card", open, options)
        }
        try open.book.nameNotes(of: verified).forEach(options.note)
        if case .added(_, let others) = outcome {
            others.forEach { options.note($0.keptKeyNote) }
        }
        let covered = verified.verifiedKeys.joined(separator: ", ")
        options.note("\(verified.name) is a verified contact; the meeting covers: \(covered)")
        try AddCommand.sayWhatWaits(verified, open, options)
    }

    private static func refuseBlocked(_ known: Contact?) throws(Failure) {
        guard let known, known.isBlocked else { return }
        throw Failure(
            .untrusted, "\(known.shownName) is blocked",
            hint: "to meet this person again: sotto contact unblock \(known.argument)")
    }

    private static let nameHint = "give a name: sotto meet --name NAME"

    /// Returns the name for a new contact. On a terminal it asks until a name can be used.
    private func chosenName(_ card: Card, _ store: IdentityStore) throws -> String {
        var given = name
        while true {
            do {
                return try store.transaction {
                    try $0.freeName(given, for: card, hint: Self.nameHint)
                }
            } catch let failure as Failure {
                guard failure.status == .usage, Terminal.isTerminal(2) else { throw failure }
                let answer = try Terminal.ask(
                    "\(failure.message). A name for this person: ", secret: false)
                given = answer.withBytes { String(decoding: $0, as: UTF8.self) }
            }
        }
    }

    /// Throws a failure with status 64 if a contact has the name of `--name`. It is checked before the code is shown: after the
    /// meeting the other person has this side already.
    func checkName() throws {
        guard let name, !Terminal.isTerminal(2),
            let other = try open.book.view({ try $0.contact(named: ContactName.checked(name)) })
                ?? nil
        else { return }
        throw Failure(
            .usage, "another contact has the name \(other.name)",
            hint: "give another name, or none if you meet this contact")
    }

    private func agrees(_ question: String) -> Bool {
        guard Terminal.isTerminal(2),
            let answer = try? Terminal.ask("\(question) [y/N] ", secret: false)
        else { return false }
        return answer.withBytes { $0.count == 1 && $0[0] | 0x20 == UInt8(ascii: "y") }
    }
}

extension Contact {
    /// The name in messages, or the beginning of the id of one who is only blocked.
    fileprivate var shownName: String { name.isEmpty ? id.short + "…" : name }
}
