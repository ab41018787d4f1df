import Sotto
import SottoClient
import SottoContacts
import SottoDatabase
import SottoState
import SottoTool
import SottoWire

/// Receives the envelopes or the dead letters of an identity.
struct MailReception {
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no inbox is used.
    let lockTimeout: Double?
    let relay: AskedRelay
    let invitation: SecretSource?
    /// Whether prekeys of contacts are claimed in advance.
    let claimsAhead: Bool
    let receiving: Receiving

    func run() throws {
        // A wrong address is reported before the passphrase prompt.
        let given = try relay.given()
        let identity = try identity.load()
        let relay = try given ?? relay.find(fallback: identity.relay)
        let inbox = try lockTimeout.map { try Inbox(of: identity, lockTimeout: $0) }
        var reception = Reception(identity: identity, relay: relay, store: inbox?.store)
        reception.invitation = try invitation.map { try Self.code($0) }
        if let inbox, !receiving.isOfDead, receiving.command == nil { try noteUnfinished(inbox) }
        if let inbox, !receiving.isOfDead { try settleDevices(inbox) }
        var unpublished: (any Error)?
        if invitation != nil {
            reception.joined = {
                do { try publish(identity, inbox?.store, to: relay) } catch { unpublished = error }
            }
        }
        let ahead = try ahead(inbox)
        reception.ahead = { ahead?.begin() }
        let former = FormerMailbox(identity: identity, isQuiet: receiving.quiet)
        let readsFormer = inbox != nil && !receiving.isOfDead
        // With --follow the wait has no end. Without it the own mail comes first.
        if readsFormer, receiving.follows { former.fetch() }
        let list = inbox.map {
            DirectoryList(
                store: $0.store, relay: relay, authorities: self.relay.authorities,
                quiet: receiving.quiet)
        }
        if receiving.follows, !receiving.isOfDead { try list?.settle() }
        try receiving.run(reception) { ending in
            inbox?.lock.unlock()
            if let inbox, !receiving.isOfDead {
                try noteDead(inbox)
                try noteFiles(inbox)
            }
            if ending.error == nil { ahead?.finish() }
            if readsFormer, !receiving.follows { former.fetch() }
            if !receiving.follows, !receiving.isOfDead, ending.loggedIn { try list?.settle() }
            if ending.replacesLost, !receiving.follows, !receiving.quiet {
                Terminal.say("recv: note: \(Receiving.lost)")
            }
            noteLeft(ending.preKeyError, ahead?.error, ending.wakeError)
            if let unpublished { throw unpublished }
        }
    }

    /// The state of the identity, and the lock that keeps other `recv` processes away from it.
    private struct Inbox {
        let store: IdentityStore
        let lock: FileLock

        init(of identity: Identity, lockTimeout: Double) throws {
            let directory = try StateDirectory.standard()
            lock = try FileLock(path: directory.receptionLock(of: identity.device))
            guard lock.lock(timeout: lockTimeout) else {
                throw Failure(
                    .tryAgain, "another recv is running for this identity",
                    hint:
                        "read its messages with sotto history --text, or end it first; it can be part of sotto chat"
                )
            }
            store = try IdentityStore(
                directory: directory, identity: identity, lockTimeout: lockTimeout,
                report: Terminal.note)
        }
    }

    /// Publishes the card of a new member, and with a state their prekeys, with `send`: it keeps them if the relay cannot be
    /// reached.
    private func publish(
        _ identity: Identity, _ store: IdentityStore?, to relay: RelayURL
    ) throws {
        if !receiving.quiet { Terminal.say("recv: note: \(relay) accepted the invitation") }
        let preKeys = try store?.transaction { try $0.publication() }
        // The mailbox of a device has the card of the device.
        let card =
            identity.owner == nil
            ? try store?.preview { try $0.ownCard(issued: .now()) } : nil
        let records = [(card ?? identity.card(issued: .now())).record, preKeys?.record]
            .compactMap(\.self)
        let authorities = self.relay.authorities.map { ["--ca", $0] } ?? []
        let status = try ToolRun(
            "send", ["--relay", relay.text, "-q"] + authorities,
            input: records.flatMap { $0.serialized() + [UInt8(ascii: "\n")] }
        ).run().status
        guard status == 0 else { throw Failure.ended(status, "send") }
        let what = preKeys == nil ? "card" : "card and prekeys"
        if !receiving.quiet { Terminal.say("recv: note: \(relay) has your \(what)") }
    }

    /// Returns the claims of bundles and the fetches of files that are made in advance.
    private func ahead(_ inbox: Inbox?) throws -> AheadWork? {
        guard let inbox, !receiving.isOfDead else { return nil }
        let authorities = relay.authorities
        return AheadWork(
            claimsAhead
                ? BundleStock(inbox.store, authorities: authorities) {
                    [quiet = receiving.quiet] owner, relay in
                    if !quiet { Terminal.say(BundleClaim.note(owner, relay)) }
                } : nil,
            GroupFileFetch(
                inbox.store, authorities: authorities,
                into: try BlobFolder(directory: .standard())),
            NewsFetch(inbox.store, authorities: authorities) { [quiet = receiving.quiet] outcome in
                guard !quiet, let failure = outcome.failure else { return }
                Terminal.say("recv: warning: \(failure.message)")
                if let hint = failure.hint { Terminal.say("recv: hint: \(hint)") }
            })
    }

    /// Reports in one note the other work that was not done.
    private func noteLeft(
        _ preKeys: (any Error)?, _ ahead: (any Error)?, _ wake: ClientError?
    ) {
        let left = [
            preKeys.map { "prekeys cannot be renewed: \(Receiving.text(of: $0))" },
            ahead.map { "files of groups and bundles were not fetched: \(Receiving.text(of: $0))" },
            wake.map { "wake-ups are not renewed: \(Receiving.text(of: $0))" },
        ].compactMap(\.self)
        guard !left.isEmpty, !receiving.quiet else { return }
        Terminal.say("recv: note: " + left.joined(separator: "; "))
    }

    /// Makes the devices full that are due, and says it.
    private func settleDevices(_ inbox: Inbox) throws {
        let store = inbox.store
        guard try store.preview({ try $0.devices(of: $0.owner.id) }) != nil else { return }
        let settled = try store.transaction { try $0.settleDevices() }
        guard !receiving.quiet else { return }
        let option = identity.identityOption
        for device in settled {
            Terminal.say(
                "recv: note: \(device.name) is a full device now; to tell your contacts and machines: sotto device announce\(option) --send"
            )
        }
    }

    private func noteUnfinished(_ inbox: Inbox) throws {
        guard !receiving.quiet else { return }
        let unopened = try inbox.store.unopenedCount()
        let count = try inbox.store.count(.unfinished) - unopened
        let option = identity.identityOption
        if count > 0 {
            Terminal.say(
                "recv: note: \(count) printed before \(count == 1 ? "was" : "were") not decrypted here; to decrypt: sotto recv --again\(option) | sotto decrypt\(option)"
            )
        }
        if unopened > 0 {
            Terminal.say(
                "recv: note: \(unopened) in the inbox cannot be opened here; to delete: sotto recv --forget all\(option)"
            )
        }
    }

    private func noteDead(_ inbox: Inbox) throws {
        let count = try inbox.store.count(.dead)
        guard count > 0, !receiving.quiet else { return }
        let option = identity.identityOption
        Terminal.say(
            "recv: note: \(count) dead after five failures; to decrypt: sotto recv --dead\(option) | sotto decrypt\(option)"
        )
    }

    /// Warns of the files that relays delete soon.
    private func noteFiles(_ inbox: Inbox) throws {
        guard !receiving.quiet else { return }
        let numbers = try inbox.store.expiringFiles().map(\.entry.number)
        let option = identity.identityOption
        if let text = warning(ofFiles: numbers, option: option) {
            Terminal.say("recv: note: \(text)")
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
}
