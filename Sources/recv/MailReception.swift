import Sotto
import SottoClient
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

    /// Time limit in seconds for the claims in advance at the end of a run.
    private static let bundleSeconds = 5.0
    /// Time limit in seconds for the claims in advance in an idle moment of `--follow`.
    private static let idleBundleSeconds = 1.0

    func run() throws {
        // A wrong address is reported before the passphrase prompt.
        let given = try relay.given()
        let identity = try identity.load()
        let relay = try given ?? relay.find(fallback: identity.relay)
        let inbox = try lockTimeout.map { try Inbox(of: identity, lockTimeout: $0) }
        var reception = Reception(identity: identity, relay: relay, store: inbox?.store)
        reception.invitation = try invitation.map { try Self.code($0) }
        if let inbox, !receiving.isOfDead, receiving.command == nil { try noteUnfinished(inbox) }
        let (stock, files) = try ahead(inbox)
        // No envelope depends on these claims and files, so their errors are ignored.
        reception.whenIdle = {
            try? stock?.fill(within: Self.idleBundleSeconds)
            try? files?.run(timeout: Self.idleBundleSeconds)
        }
        try receiving.run(reception) { ending in
            if ending.error == nil {
                try? stock?.fill(within: Self.bundleSeconds)
                try? files?.run(timeout: Self.bundleSeconds)
            }
            inbox?.lock.unlock()
            if let inbox, !receiving.isOfDead { try noteDead(inbox) }
        }
    }

    /// The state of the identity, and the lock that keeps other `recv` processes away from it.
    private struct Inbox {
        let store: IdentityStore
        let lock: FileLock

        init(of identity: Identity, lockTimeout: Double) throws {
            let directory = try StateDirectory.standard()
            lock = try FileLock(path: directory.file(identity.id.description + ".recv-lock"))
            guard lock.lock(timeout: lockTimeout) else {
                throw Failure(
                    .tryAgain, "another recv is running for this identity",
                    hint:
                        "read its messages with sotto history --text, or end it first; it can be part of sotto chat"
                )
            }
            store = try IdentityStore(
                directory: directory, identity: identity, lockTimeout: lockTimeout)
        }
    }

    /// Returns the claims of bundles and the fetches of files that are made in advance.
    private func ahead(_ inbox: Inbox?) throws -> (BundleStock?, GroupFileFetch?) {
        guard let inbox, !receiving.isOfDead else { return (nil, nil) }
        let authorities = relay.authorities
        return (
            claimsAhead ? BundleStock(inbox.store, authorities: authorities) : nil,
            GroupFileFetch(
                inbox.store, authorities: authorities,
                into: try BlobFolder(directory: .standard()))
        )
    }

    private func noteUnfinished(_ inbox: Inbox) throws {
        let count = try inbox.store.count(.unfinished)
        guard count > 0, !receiving.quiet else { return }
        Terminal.say(
            "recv: note: \(count) printed before \(count == 1 ? "was" : "were") not decrypted here; sotto recv --again prints \(count == 1 ? "it" : "them")"
        )
    }

    private func noteDead(_ inbox: Inbox) throws {
        let count = try inbox.store.count(.dead)
        guard count > 0, !receiving.quiet else { return }
        Terminal.say("recv: note: \(count) dead after five failures; sotto recv --dead prints them")
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
