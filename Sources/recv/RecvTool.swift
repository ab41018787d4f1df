import Arguments
import Sotto
import SottoClient
import SottoContacts
import SottoState
import SottoTool
import SottoWire

/// `recv`: envelopes from a relay to stdout, through an inbox that survives whatever happens.
@main
struct RecvTool: Program {
    static let configuration = CommandConfiguration(
        name: "recv",
        abstract: "Receive envelopes from a relay.",
        usage: "recv [-i FILE] [--relay URL] [--follow] [--wait SECONDS] [--max N] [--exec CMD]",
        discussion: """
            Prints the envelopes that wait, one a line, and ends; with none it exits 1. An envelope is on disk \
            here before the relay lets go of it. A repeat has the same id, and decrypt recognises it.

            EXAMPLES
              recv -i bob.key | decrypt -i bob.key --text
              recv --follow | decrypt | jq -r .body.text
              recv --follow --exec 'decrypt --text >> log'
              recv --bundle bob > /dev/null    # for: encrypt --to bob --suite ratchet
              recv --card 05d8a2... | contact add --name bob
              recv --card bob | contact add    # a newer card of a contact
              recv --invitation @FILE:code
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityOptions

    @Option(
        "--relay", value: "url",
        help:
            "The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, perhaps with #sha256=PIN. Default: $SOTTO_RELAY, else the identity's."
    )
    var relay: String?

    @Option(
        "--ca", value: "file",
        help:
            "Who may vouch for the relay's certificate: a PEM file. Default: $SOTTO_CA, else the system's."
    )
    var ca: String?

    @Flag("-f", "--follow", help: "Go on receiving, through lost connections, until stopped.")
    var follow = false

    @Option(
        "--wait", value: "seconds", help: "Wait so long for the first or next envelope.",
        values: .any)
    var wait = 0.0

    @Option("--max", value: "n", help: "End after so many envelopes.")
    var max: Int?

    @Option(
        "--exec", value: "cmd",
        help:
            "Run this in sh for each envelope, which it gets on stdin; the relay deletes the envelope when that "
            + "exits 0. After five failures it becomes a dead letter; with --follow it is tried again after 1 to 60 s."
    )
    var exec: String?

    @Flag(
        "--again",
        help:
            "Print again what was printed before and decrypt has not finished with. Needs no relay."
    )
    var again = false

    @Flag(
        "--dead",
        help: "Print, or give to --exec, what was put aside after five failures, and let go of it.")
    var dead = false

    @Option(
        "--bundle", value: "card",
        help:
            "Claim a bundle of this contact or card, to begin a session with; print it, and keep it for encrypt."
    )
    var bundle: String?

    @Option(
        "--card", value: "card",
        help:
            "Ask the relay's directory for the card of this contact or id, and print it; trust in it is yours to give."
    )
    var card: String?

    @Option(
        "--invitation", value: "source",
        help: "Redeem a code of relay invite, and become a member: @ENV:NAME, @FD:N or @FILE:PATH.")
    var invitation: SecretSource?

    @Option(
        "--login-key", value: "pem",
        help:
            "Log in with this RSA key, a PEM file that keygen login-key made, for --of; as --stateless."
    )
    var loginKey: String?

    @Option(
        "--login-password", value: "source",
        help: "Password of the login key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var loginPassword: SecretSource?

    @Option("--of", value: "card", help: "Whose mail, with --login-key: a card or an id.")
    var of: String?

    @Flag("--stateless", help: "Keep no inbox: tell the relay only once an envelope is printed.")
    var stateless = false

    @Flag(
        "--no-bundles",
        help: "Claim no prekeys of contacts ahead. Their relays are then not connected to.")
    var noBundles = false

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "No notes on stderr.")
    var quiet = false

    func validate() throws {
        guard !again || !(dead || stateless || follow || exec != nil) else {
            throw UsageError(
                "--again cannot be combined with --dead, --stateless, --follow or --exec")
        }
        try invitation?.validate()
        try loginPassword?.validate()
        guard
            card == nil || bundle == nil && !(again || dead || follow || exec != nil || max != nil)
        else {
            throw UsageError("--card receives no envelopes")
        }
        guard (loginKey == nil) == (of == nil), loginPassword == nil || loginKey != nil else {
            throw UsageError("--login-key and --of require each other")
        }
        guard loginKey == nil || identity.identities.isEmpty && !again && invitation == nil else {
            throw UsageError("--login-key cannot be combined with -i, --again or --invitation")
        }
        guard bundle == nil || !(again || dead || follow || exec != nil || max != nil) else {
            throw UsageError("--bundle receives no envelopes")
        }
        guard !(dead && follow) else { throw UsageError("--dead and --follow cannot be combined") }
        if let max, max < 1 { throw UsageError("--max begins at 1") }
        guard wait >= 0 else {
            throw UsageError("--wait begins at 0")
        }
    }

    func execute() throws {
        if again {
            try printAgain()
            return
        }
        if let bundle {
            try BundleClaim(
                identity: identity, lockTimeout: lock.timeout, isKept: !stateless, relay: relay,
                authorities: ca
            ).run(for: bundle)
            return
        }
        if let card { return try printCard(card) }
        if let loginKey, let of {
            let relay = try RelayAddress.find(relay, authorities: ca)
            let key = try KeyFile.loginKey(at: loginKey, loginPassword)
            let id = try SessionID(of) ?? RecipientArgument.card(of).id
            return try receive(
                Reception(owner: .loginKey(key, id), relay: relay), handling: handling())
        }
        // A wrong address is an error before a passphrase is asked for.
        let given = try RelayAddress.given(relay, authorities: ca)
        let identity = try identity.load()
        let relay =
            try given ?? RelayAddress.find(nil, authorities: ca, fallback: identity.relay)
        var store: IdentityStore?
        var running: FileLock?
        if !stateless {
            let directory = try StateDirectory.standard()
            running = try FileLock(path: directory.file(identity.id.description + ".recv-lock"))
            guard let running, running.lock(timeout: lock.timeout) else {
                throw Failure(
                    .tryAgain, "another recv is running for this identity",
                    hint: "end it, or wait longer with --lock-timeout")
            }
            store = try IdentityStore(
                directory: directory, identity: identity, lockTimeout: lock.timeout)
        }
        var reception = Reception(identity: identity, relay: relay, store: store)
        reception.invitation = try invitation.map { try Self.code($0) }
        if !dead, exec == nil, let store { try noteUnfinished(store) }
        let stock = noBundles || dead ? nil : store.map { BundleStock($0, authorities: ca) }
        // No mail depends on what fails here.
        if let stock { reception.whenIdle = { _ = try? stock.step() } }
        try receive(reception, handling: handling()) { ending in
            if ending.error == nil { try? stock?.fill(within: Self.bundleSeconds) }
            running?.unlock()
            if !dead, let store { try noteDead(store) }
        }
    }

    /// Seconds that the claims ahead may take at the end of a run.
    private static let bundleSeconds = 5.0

    private func receive(
        _ reception: Reception, handling: Reception.Handling,
        after: (Reception.Ending) throws -> Void = { _ in }
    ) throws {
        var reception = reception
        reception.follow = follow
        reception.wait = wait
        reception.maximum = max
        if !quiet { reception.notice = Self.say }
        let ending = try dead ? reception.runDead(handling) : reception.run(handling)
        try after(ending)
        if ending.expired > 0, !quiet {
            Terminal.say(
                "recv: note: \(ending.expired) deleted unread: the messages before them did not come for \(StateTransaction.earlyDays) days"
            )
        }
        if reception.invitation != nil, ending.loggedIn {
            if !quiet { Terminal.say("recv: note: \(reception.relay) has let you in") }
            if ending.error == nil, ending.received + ending.failed == 0 { return }
        }
        try end(ending)
    }

    private static func say(_ notice: Reception.Notice) {
        switch notice {
        case .disconnected(let error): Terminal.say("recv: note: \(error.message); trying again")
        case .reconnected(let relay): Terminal.say("recv: note: \(relay) is reached again")
        }
    }

    /// The code in a file, which may be what `relay invite` printed.
    private static func code(_ source: SecretSource) throws -> InvitationCode {
        let secret = try source.read()
        let text = secret.withBytes { String(decoding: $0, as: UTF8.self) }
        do throws(InvitationCode.Invalid) {
            return try InvitationCode(text)
        } catch {
            let what =
                switch error {
                case .count(let count): "has \(count) words in place of \(InvitationCode.wordCount)"
                case .word(let place): "has a word that is in no code, number \(place)"
                }
            throw Failure(.malformed, "the invitation \(what)")
        }
    }

    /// Prints the card that the directory has for an id, or for the id of a contact or card.
    private func printCard(_ text: String) throws {
        let id =
            try SessionID(text)
            ?? AddressBook(identity.load, lockTimeout: lock.timeout).find(text).id
        let relay = try RelayAddress.find(
            relay, authorities: ca, fallback: identity.needsNoPrompt ? identity.load().relay : nil)
        let card = try CardLookup(id).run(at: relay)
        let output = try Output(path: nil, content: .text)
        if let record = card.record { try output.writeLine(record) }
        try output.finish()
    }

    /// Prints what the inbox still has of what was printed before.
    private func printAgain() throws {
        let store = try IdentityStore(
            directory: .standard(), identity: identity.load(), lockTimeout: lock.timeout)
        let output = try Output(path: nil, content: .text)
        var number: Int64 = 0
        var count = 0
        while count < max ?? .max {
            let rows = try store.kept(
                .unfinished, after: number, limit: Swift.min(256, (max ?? .max) - count))
            guard let last = rows.last else { break }
            number = last.number
            count += rows.count
            for row in rows { try output.write(row.envelope + [UInt8(ascii: "\n")]) }
        }
        try output.finish()
        guard count > 0 else { throw Failure(.no, "") }
    }

    private func noteUnfinished(_ store: IdentityStore) throws {
        let count = try store.count(.unfinished)
        guard count > 0, !quiet else { return }
        Terminal.say(
            "recv: note: \(count) printed before \(count == 1 ? "was" : "were") not decrypted here; recv --again prints \(count == 1 ? "it" : "them")"
        )
    }

    private func noteDead(_ store: IdentityStore) throws {
        let count = try store.count(.dead)
        guard count > 0, !quiet else { return }
        Terminal.say("recv: note: \(count) put aside after five failures; recv --dead prints them")
    }

    private func handling() throws -> Reception.Handling {
        if let exec {
            let handler = Handler(command: exec)
            return .run { envelope in try handler.run(envelope) }
        }
        let output = try Output(path: nil, content: .text)
        return .print { envelopes in
            for envelope in envelopes { try output.write(envelope + [UInt8(ascii: "\n")]) }
            try output.flush()
        }
    }

    private func end(_ ending: Reception.Ending) throws {
        if let error = ending.error {
            guard ending.received > 0, error.isTransient else { throw error }
            throw Failure(.tryAgain, "\(error.message); there may be more", hint: error.hint)
        }
        if ending.failed > 0 {
            let what = ending.failed == 1 ? "1 envelope" : "\(ending.failed) envelopes"
            throw Failure(
                ending.received > 0 ? .partial : .tryAgain, "the command failed for \(what)",
                hint: "after five failures an envelope is put aside")
        }
        if ending.received == 0 { throw Failure(.no, "") }
    }
}
