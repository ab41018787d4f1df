import Arguments
import Sotto
import SottoClient
import SottoContacts
import SottoDatabase
import SottoState
import SottoTool
import SottoWire

/// `recv`: receives envelopes from a relay, and prints them after storing them in an inbox that survives a crash.
@main
struct RecvTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "recv",
        abstract: "Receive envelopes from a relay.",
        usage: "recv [-i FILE] [--relay URL] [--follow] [--wait SECONDS] [--max N] [--exec CMD]",
        discussion: """
            Prints the waiting envelopes, one per line, and exits; with 1 if there are none. An envelope is stored on \
            disk here before the relay deletes it. A repeated envelope has the same id, and decrypt detects it.

            EXAMPLES
              recv -i bob.key | decrypt -i bob.key --text
              recv --follow | decrypt | jq -r .body.text
              recv --follow --exec 'decrypt --text >> log'
              recv --bundle bob > /dev/null    # for: encrypt --to bob --suite ratchet
              recv --card 05d8a2... | contact add --name bob
              recv --card bob | contact add    # a newer card of a contact
              recv --blob 17 | decrypt --attachment 17 -o photo.jpg
              recv --invitation @FILE:code
            """,
        version: sottoVersion)

    @OptionGroup var identity: IdentityOptions

    @Option(
        "--relay", value: "url",
        help:
            "The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, optionally with #sha256=PIN. Default: $SOTTO_RELAY, else the identity's relay."
    )
    var relay: String?

    @Option(
        "--ca", value: "file",
        help:
            "PEM file of the authorities for the relay's certificate. Default: $SOTTO_CA, else the system's."
    )
    var ca: String?

    @Flag(
        "-f", "--follow",
        help: "Continue to receive, and reconnect when a connection is lost, until stopped.")
    var follow = false

    @Option(
        "--wait", value: "seconds", help: "Wait this long for the first or next envelope.",
        values: .any)
    var wait = 0.0

    @Option("--max", value: "n", help: "End after this many envelopes.")
    var max: Int?

    @Option(
        "--exec", value: "cmd",
        help:
            "Run this command in sh for each envelope, with the envelope on stdin; the relay deletes it when the command "
            + "exits with 0. After five failures it becomes a dead letter; with --follow it is retried after 1 to 60 s."
    )
    var exec: String?

    @Flag(
        "--again",
        help:
            "Print envelopes again that were printed before and that decrypt has not finished. Needs no relay."
    )
    var again = false

    @Flag(
        "--dead",
        help: "Print the dead letters, or pass them to --exec, and delete them.")
    var dead = false

    @Option(
        "--bundle", value: "card",
        help:
            "Claim a prekey bundle of this contact or card, to begin a session; print it, and store it for encrypt."
    )
    var bundle: String?

    @Option(
        "--card", value: "card",
        help:
            "Ask the relay's directory for the card of this contact or id, and print it; the relay does not vouch for its owner."
    )
    var card: String?

    @Option(
        "--room", value: "id",
        help:
            "Ask the relay's directory for the room whose door has this id, and print its encrypted record; for group join."
    )
    var room: String?

    @Option(
        "--blob", value: "record",
        help:
            "Fetch the encrypted file of this message, a number or a file with the record, and print it for decrypt --attachment."
    )
    var blob: String?

    @Flag(
        "--keep",
        help:
            "With --blob: keep the file in the state, for history save, and print nothing.")
    var keep = false

    @Option(
        "--invitation", value: "source",
        help:
            "Redeem an invitation code from relay invite to become a member: @ENV:NAME, @FD:N or @FILE:PATH."
    )
    var invitation: SecretSource?

    @Option(
        "--login-key", value: "pem",
        help:
            "Log in for --of with this RSA key, a PEM file from bridge login-key; implies --stateless."
    )
    var loginKey: String?

    @Option(
        "--login-password", value: "source",
        help: "Password of the login key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var loginPassword: SecretSource?

    @Option(
        "--of", value: "card", help: "The owner of the mailbox, with --login-key: a card or an id.")
    var of: String?

    @Flag("--stateless", help: "Use no inbox: the relay deletes an envelope after it is printed.")
    var stateless = false

    @Flag(
        "--no-bundles",
        help: "Do not claim prekeys of contacts in advance, and do not connect to their relays.")
    var noBundles = false

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: mode) }

    func validate() throws {
        if dead { try given.refuse("--follow", with: "--dead") }
        if dead { try given.refuse("--wait", with: "--dead") }
        try invitation?.validate()
        try loginPassword?.validate()
        guard (loginKey == nil) == (of == nil) else {
            throw UsageError("--login-key and --of require each other")
        }
        if let max, max < 1 { throw UsageError("--max must be at least 1") }
        guard wait >= 0 else {
            throw UsageError("--wait must be at least 0")
        }
    }

    private var mode: RecvMode {
        if again { return .again }
        if bundle != nil { return .bundle }
        if card != nil { return .card }
        if room != nil { return .room }
        if blob != nil { return .blob }
        if loginKey != nil { return .loginKey }
        if dead { return .dead }
        return stateless ? .stateless : .mail
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
        if let room { return try printRoom(room) }
        if let blob {
            return try BlobFetch(
                record: blob, identity: identity, lockTimeout: lock.timeout, relay: relay,
                authorities: ca, keeps: keep, quiet: quiet
            ).run()
        }
        if let loginKey, let of {
            let relay = try RelayAddress.find(relay, authorities: ca)
            let key = try KeyFile.loginKey(at: loginKey, loginPassword)
            let id = try SessionID(of) ?? RecipientArgument.card(of).id
            return try receive(
                Reception(owner: .loginKey(key, id), relay: relay), handling: handling())
        }
        // A wrong address is reported before the passphrase prompt.
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
                    hint:
                        "read its messages with sotto history --text, or end it first; it can be part of sotto chat"
                )
            }
            store = try IdentityStore(
                directory: directory, identity: identity, lockTimeout: lock.timeout)
        }
        var reception = Reception(identity: identity, relay: relay, store: store)
        reception.invitation = try invitation.map { try Self.code($0) }
        if !dead, exec == nil, let store { try noteUnfinished(store) }
        let stock = noBundles || dead ? nil : store.map { BundleStock($0, authorities: ca) }
        let files =
            try dead
            ? nil
            : store.map { store in
                GroupFileFetch(store, authorities: ca, into: try BlobFolder(directory: .standard()))
            }
        // No envelope depends on these claims and files, so their errors are ignored.
        reception.whenIdle = {
            try? stock?.fill(within: Self.idleBundleSeconds)
            try? files?.run(timeout: Self.idleBundleSeconds)
        }
        try receive(reception, handling: handling()) { ending in
            if ending.error == nil {
                try? stock?.fill(within: Self.bundleSeconds)
                try? files?.run(timeout: Self.bundleSeconds)
            }
            running?.unlock()
            if !dead, let store { try noteDead(store) }
        }
    }

    /// Time limit in seconds for the claims in advance at the end of a run.
    private static let bundleSeconds = 5.0
    /// Time limit in seconds for the claims in advance in an idle moment of `--follow`.
    private static let idleBundleSeconds = 1.0

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
                "recv: note: deleted \(ending.expired) unread: the messages before them did not arrive within \(StateTransaction.earlyDays) days"
            )
        }
        if reception.invitation != nil, ending.loggedIn {
            if !quiet { Terminal.say("recv: note: \(reception.relay) accepted the invitation") }
            if ending.error == nil, ending.received + ending.failed == 0 { return }
        }
        try end(ending)
    }

    private static func say(_ notice: Reception.Notice) {
        switch notice {
        case .disconnected(let error): Terminal.say("recv: note: \(error.message); trying again")
        case .reconnected(let relay): Terminal.say("recv: note: reconnected to \(relay)")
        }
    }

    /// Reads an invitation code from a file, such as the output of `relay invite`.
    private static func code(_ source: SecretSource) throws -> InvitationCode {
        let secret = try source.read()
        let text = secret.withBytes { String(decoding: $0, as: UTF8.self) }
        do throws(InvitationCode.Invalid) {
            return try InvitationCode(text)
        } catch {
            let what =
                switch error {
                case .count(let count): "has \(count) words instead of \(InvitationCode.wordCount)"
                case .word(let place): "has an unknown word, number \(place)"
                }
            throw Failure(.malformed, "the invitation \(what)")
        }
    }

    /// Prints the card from the directory for an id, or for the id of a contact or card.
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

    /// Prints the record of a room from the directory.
    private func printRoom(_ text: String) throws {
        guard let door = SessionID(text) else {
            throw Failure(.usage, "\(text) is not the id of a door")
        }
        let relay = try RelayAddress.find(
            relay, authorities: ca, fallback: identity.needsNoPrompt ? identity.load().relay : nil)
        let record: JSONObject
        do throws(ClientError) {
            record = try RoomLookup(door).run(at: relay)
        } catch {
            if quiet, case .noRoom = error { throw Failure(.no, "") }
            throw error
        }
        let output = try Output(path: nil, content: .text)
        try output.writeLine(record)
        try output.finish()
    }

    /// Prints the envelopes in the inbox that were printed before.
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
            "recv: note: \(count) printed before \(count == 1 ? "was" : "were") not decrypted here; sotto recv --again prints \(count == 1 ? "it" : "them")"
        )
    }

    private func noteDead(_ store: IdentityStore) throws {
        let count = try store.count(.dead)
        guard count > 0, !quiet else { return }
        Terminal.say("recv: note: \(count) dead after five failures; sotto recv --dead prints them")
    }

    private func handling() throws -> Reception.Handling {
        if let exec {
            let handler = ShellCommand(exec, tool: Self.toolName)
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
                hint: "after five failures an envelope becomes a dead letter")
        }
        if ending.received == 0 { throw Failure(.no, "") }
    }
}
