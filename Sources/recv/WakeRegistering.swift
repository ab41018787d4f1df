public import Arguments
import Sotto
import SottoClient
import SottoState
import SottoTool
public import SottoWire

/// `recv --wake` and `recv --no-wake`: says where the relay posts when mail waits.
struct WakeRegistering {
    /// The registration to make, or `nil` to end some.
    private let registration: WakeRegistration?
    private let kind: WakeRegistration.Kind?
    private let identity: IdentityChoice
    private let lockTimeout: Double
    private let relay: AskedRelay
    private let quiet: Bool

    /// Checks the options; without `url` the registrations of `kind` end, or all. Throws a failure with status 64.
    init(
        url: String?, kind: WakeRegistration.Kind?, token: String?, identity: IdentityChoice,
        lockTimeout: Double, relay: AskedRelay, quiet: Bool
    ) throws(Failure) {
        (self.kind, self.identity, self.lockTimeout) = (kind, identity, lockTimeout)
        (self.relay, self.quiet) = (relay, quiet)
        guard let url else {
            registration = nil
            return
        }
        do throws(WakeRegistration.Invalid) {
            registration = try WakeRegistration(url: url, kind: kind ?? .message, token: token)
        } catch {
            switch error {
            case .url:
                throw Failure(
                    .usage, "--wake is not an address to post to",
                    hint: "for example https://example.org/wake or ntfy://ntfy.sh/topic")
            case .token:
                throw Failure(.usage, "--wake-token must have 1 to 64 letters, digits or -._:")
            }
        }
    }

    func run() throws {
        let given = try relay.given()
        let identity = try identity.load()
        let relay = try given ?? relay.find(fallback: identity.relay)
        let store = try IdentityStore(
            directory: .standard(), identity: identity, lockTimeout: lockTimeout,
            report: Terminal.note)
        let requests = OwnersRequests(of: identity, to: relay)
        if let registration {
            try requests.register(registration, in: store)
            guard !quiet else { return }
            Terminal.say(
                "recv: note: \(relay) posts there when mail waits; each recv renews this, and it expires after \(WireLimits.wakeDays) days without one"
            )
        } else {
            try requests.unregister(kind, in: store)
        }
    }
}

/// `recv --invite`: makes an invitation code as a member of a relay.
struct MemberInvitation {
    private let label: String
    private let identity: IdentityChoice
    private let relay: AskedRelay
    private let quiet: Bool

    /// Checks the label. Throws ``UsageError``.
    init(
        label: String?, identity: IdentityChoice, relay: AskedRelay, quiet: Bool
    ) throws {
        (self.label, self.identity) = (label ?? "", identity)
        (self.relay, self.quiet) = (relay, quiet)
        guard let label else { return }
        guard (1...WireLimits.labelBytes).contains(label.utf8.count),
            !label.unicodeScalars.contains(where: \.isInvisible)
        else {
            throw UsageError("the label must have 1 to 64 bytes and no invisible characters")
        }
    }

    func run() throws {
        let given = try relay.given()
        let identity = try identity.load()
        let relay = try given ?? relay.find(fallback: identity.relay)
        let output = try Output(path: nil, content: .text)
        let code = try OwnersRequests(of: identity, to: relay).invite(label: label)
        try output.writeText(code.text + "\n")
        try output.finish()
        guard !quiet else { return }
        Terminal.say(
            "recv: note: the code makes one person a member, within \(WireLimits.invitationDays) days; with it they run:"
        )
        Terminal.say("  sotto init --relay \(shellWord(relay.text))")
    }
}

/// `recv --announcements`: prints the address of the room that a relay offers to everybody.
struct AnnouncementsRequest {
    let identity: IdentityChoice
    let relay: AskedRelay

    func run() throws {
        let relay = try relay.find(for: identity)
        guard let text = try AnnouncementsLookup().run(at: relay) else { throw Failure(.no, "") }
        // The relay chose the text. A room elsewhere would make the user connect to an address of the relay's choice.
        guard let uri = RoomURI(text), uri.phrase != nil,
            let place = try? RelayURL(uri.relay), place.host == relay.host
        else {
            throw Failure(
                .malformed, "\(relay) offers something that is no room of its own")
        }
        let output = try Output(path: nil, content: .text)
        try output.writeText(uri.text + "\n")
        try output.finish()
    }
}

extension WakeRegistration.Kind: ExpressibleByArgument {}
