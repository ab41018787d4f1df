import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Selects the suite for each recipient and the bundle to begin a session.
struct RoutePlan {
    let tool: EncryptTool
    let own: SessionID?
    let bundles: [PreKeyBundle]

    /// Days after which a signed prekey is old. Its owner renews it every seven days.
    private static let oldDays: Int64 = 14
    /// Seconds by which its date may be in the future, because clocks differ.
    private static let futureSeconds: Int64 = 86_400

    private func given(_ peer: SessionID) -> PreKeyBundle? { bundles.first { $0.owner == peer } }

    /// Throws if a bundle does not belong to a recipient.
    func check(_ people: [Correspondent]) throws {
        guard bundles.allSatisfy({ bundle in people.contains { $0.id == bundle.owner } }) else {
            throw SessionError.otherOwner
        }
    }

    /// Returns the suite for a recipient. The order is: the requested suite, an existing session, a session that can
    /// begin with a bundle that `recv` claimed, `sealed`.
    func suite(for person: Correspondent, _ store: IdentityStore?) throws -> Suite {
        if let suite = tool.chosenSuite {
            guard suite != .ratchet || person.id != own else {
                throw Failure(
                    .usage, "a session with yourself is not possible", hint: "omit --suite")
            }
            return suite
        }
        if given(person.id) != nil || tool.newSession || tool.requireOneTime { return .ratchet }
        if let suite = person.contact?.suite { return suite }
        guard let store else { return .sealed }
        return try store.preview { state -> Suite in
            if try state.hasSession(with: person.id) { return .ratchet }
            guard person.contact != nil, person.id != own else { return .sealed }
            // A session without a post-quantum prekey would be weaker than a sealed message.
            let bundle = try state.freshBundle(of: person.id)
            return bundle?.pqSignedPreKey == nil ? .sealed : .ratchet
        }
    }

    /// Reports the suite of a contact's messages once after each change. `isReported` is true if the beginning of a
    /// session was just reported. An error of the state is ignored, because no message depends on the note.
    func noteSuite(
        _ suite: Suite, of person: Correspondent, _ store: IdentityStore, isReported: Bool
    ) {
        guard person.contact != nil, person.id != own else { return }
        do {
            guard try store.preview({ try $0.lastSuite(of: person.id) }) != suite else { return }
            try store.transaction { try $0.noteSuite(suite, of: person.id) }
        } catch {
            return
        }
        guard !isReported, !tool.quiet else { return }
        let what =
            suite == .ratchet
            ? "ratchet, with forward secrecy"
            : "sealed, without forward secrecy: no session with \(person.name) exists"
        Terminal.say("encrypt: note: messages to \(person.name) have the suite \(what)")
    }

    /// Ensures that a session exists: continues one, or begins one with the given or stored bundle. Returns whether one
    /// began.
    func prepare(_ person: Correspondent, _ store: IdentityStore) throws -> Bool {
        let bundle = given(person.id)
        if bundle == nil, !tool.newSession,
            try store.preview({ try $0.hasSession(with: person.id) })
        {
            return false
        }
        let begun = try store.transaction { transaction -> (PeerSession.Origin, PreKeyBundle)? in
            // Another process may have begun one meanwhile. A given bundle is used in any case, once.
            if !tool.newSession, try transaction.hasSession(with: person.id) { return nil }
            guard let bundle = try bundle ?? transaction.bundle(of: person.id) else {
                throw SessionError.nothingToSendWith(person.id)
            }
            if bundle.pqSignedPreKey == nil, !tool.classic {
                throw SessionError.notPostQuantum
            }
            guard bundle.oneTimePreKey != nil || !tool.requireOneTime else {
                throw SessionError.noOneTimePreKey
            }
            return (try transaction.begin(with: bundle), bundle)
        }
        if let begun {
            say(person, begun.0, begun.1)
        } else if bundle != nil, !tool.quiet {
            Terminal.say(
                "encrypt: note: a session with \(person.name) exists, so the bundle was not used; use --new-session to begin another"
            )
        }
        return begun != nil
    }

    private func say(_ person: Correspondent, _ origin: PeerSession.Origin, _ bundle: PreKeyBundle)
    {
        guard !tool.quiet else { return }
        let kind = origin.isPostQuantum ? "PQXDH" : "X3DH, not post-quantum"
        let oneTime =
            origin.hasOneTimePreKey
            ? "with a one-time prekey"
            : "without a one-time prekey: an attacker who stores the first message could replay it"
        Terminal.say("encrypt: began a session with \(person.name): \(kind), \(oneTime)")
        guard let made = bundle.signedPreKey.date?.time else {
            Terminal.say("encrypt: note: the age of the bundle's signed prekey is unknown")
            return
        }
        let seconds = Timestamp.now().seconds - made.seconds
        if seconds < -Self.futureSeconds {
            Terminal.say(
                "encrypt: warning: the bundle's signed prekey is dated \(made), in the future: its owner's clock or yours is wrong"
            )
        }
        let days = seconds / 86_400
        guard days > Self.oldDays else { return }
        Terminal.say(
            "encrypt: warning: the bundle's signed prekey is \(days) days old: its owner was offline, or an attacker supplied an old bundle"
        )
    }
}

/// Reads a bundle from a file or pipe.
enum BundleFile {
    private static let limit = 1 << 20

    static func read(_ path: String) throws -> PreKeyBundle {
        let record = try JSON.object(parsing: try Input(path: path).readAll(limit: limit))
        if record["type"]?.string == "prekeys" {
            // A publication of the owner is accepted too, but without its one-time prekeys. The relay gives those out;
            // if they were taken here, two senders could use the same one.
            return try PreKeyPublication(record: record).bundle(oneTime: nil)
        }
        return try PreKeyBundle(record: record)
    }
}
