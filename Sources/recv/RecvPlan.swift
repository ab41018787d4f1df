import Arguments
import Sotto
import SottoMessages
import SottoTool

/// A validated command line of `recv`.
enum RecvPlan {
    case mail(MailReception)
    case loginKey(LoginKeyReception)
    case again(PrintedEnvelopes)
    case forget(ForgottenEnvelopes)
    case bundle(BundleClaim)
    case card(CardRequest)
    case cardOf(CardsRequest)
    case room(RoomRequest)
    case turn(TurnRequestCommand)
    case blob(BlobFetch)
    case meeting(MeetingReception)
    case wake(WakeRegistering)
    case invite(MemberInvitation)
    case announcements(AnnouncementsRequest)

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: RecvTool) throws {
        if tool.dead {
            for option in ["--follow", "--wait"] { try tool.given.refuse(option, with: "--dead") }
            if tool.stateless { try tool.given.refuse("--lock-timeout", with: "--stateless") }
        }
        guard (tool.loginKey == nil) == (tool.of == nil) else {
            throw UsageError("--login-key and --of require each other")
        }
        if let max = tool.max, max < 1 { throw UsageError("--max must be at least 1") }
        guard tool.pollEvery.map({ (1...86_400).contains($0) }) ?? true else {
            throw UsageError("--poll-every must be from 1 to 86400")
        }
        guard tool.wait >= 0 else { throw UsageError("--wait must be at least 0") }

        let takesMail = try Self.takesMail(tool)
        let identity = tool.identity.choice
        let relay = AskedRelay(
            url: tool.relay, authorities: tool.ca, pollSeconds: tool.pollEvery.map { Int64($0) },
            form: tool.wire)
        switch tool.mode {
        case .mail, .stateless, .dead:
            self = .mail(
                MailReception(
                    identity: identity, lockTimeout: tool.stateless ? nil : tool.lock.timeout,
                    relay: relay, invitation: tool.invitation, claimsAhead: !tool.noBundles,
                    receiving: Self.receiving(tool, takesMail: takesMail)))
        case .loginKey:
            self = .loginKey(
                LoginKeyReception(
                    key: tool.loginKey ?? "", password: tool.loginPassword, owner: tool.of ?? "",
                    relay: relay, receiving: Self.receiving(tool, takesMail: takesMail)))
        case .again:
            self = .again(
                PrintedEnvelopes(
                    identity: identity, lockTimeout: tool.lock.timeout, maximum: tool.max))
        case .forget:
            self = .forget(
                ForgottenEnvelopes(
                    ids: tool.forget, identity: identity, lockTimeout: tool.lock.timeout,
                    quiet: tool.quiet))
        case .bundle:
            self = .bundle(
                BundleClaim(
                    owner: tool.bundle ?? "", identity: identity, lockTimeout: tool.lock.timeout,
                    isKept: !tool.stateless, relay: relay))
        case .card:
            self = .card(
                CardRequest(
                    owner: tool.card ?? "", identity: identity, lockTimeout: tool.lock.timeout,
                    relay: relay))
        case .cardOf:
            let account = Pasted.text(tool.cardOf ?? "")
            guard (1...255).contains(account.utf8.count), !hasControls(account) else {
                throw UsageError(
                    "--card-of must have 1 to 255 bytes and no control characters")
            }
            self = .cardOf(CardsRequest(account: account, identity: identity, relay: relay))
        case .room:
            self = .room(try Self.room(tool, relay))
        case .turn:
            self = .turn(TurnRequestCommand(identity: identity, relay: relay, quiet: tool.quiet))
        case .meeting:
            self = .meeting(
                try MeetingReception(
                    tool.meeting ?? "", identity: identity, relay: relay, quiet: tool.quiet))
        case .wake, .noWake:
            self = .wake(
                try WakeRegistering(
                    url: tool.wake, kind: tool.kind, token: tool.wakeToken, identity: identity,
                    lockTimeout: tool.lock.timeout, relay: relay, quiet: tool.quiet))
        case .invite:
            self = .invite(
                try MemberInvitation(
                    label: tool.label, identity: identity, relay: relay, quiet: tool.quiet))
        case .announcements:
            self = .announcements(AnnouncementsRequest(identity: identity, relay: relay))
        case .blob:
            self = .blob(
                BlobFetch(
                    record: tool.blob ?? "", identity: identity, lockTimeout: tool.lock.timeout,
                    relay: relay, isKept: tool.keep, quiet: tool.quiet))
        }
    }

    func run() throws {
        switch self {
        case .mail(let reception):
            try reception.receiving.failure.write(onFailureOf: reception.run)
        case .loginKey(let reception):
            try reception.receiving.failure.write(onFailureOf: reception.run)
        case .again(let envelopes): try envelopes.run()
        case .forget(let envelopes): try envelopes.run()
        case .bundle(let claim): try claim.run()
        case .card(let request): try request.run()
        case .cardOf(let request): try request.run()
        case .room(let request): try request.run()
        case .turn(let request): try request.run()
        case .blob(let fetch): try fetch.run()
        case .meeting(let reception): try reception.run()
        case .wake(let wake): try wake.run()
        case .invite(let invitation): try invitation.run()
        case .announcements(let request): try request.run()
        }
    }

    /// Returns whether mail is received: not if envelopes would be lost on a terminal. Throws a failure with status 64 then, unless an
    /// invitation was given.
    private static func takesMail(_ tool: RecvTool) throws(Failure) -> Bool {
        switch tool.mode {
        case .mail, .stateless, .loginKey, .again, .dead:
            guard tool.exec == nil else { return true }
            do throws(Failure) {
                try tool.records.check(decryptedWith: tool.identity.identityOption)
                return true
            } catch {
                // Dead letters are envelopes too.
                guard tool.invitation != nil, !tool.dead else { throw error }
                return false
            }
        case .forget, .bundle, .card, .cardOf, .room, .turn, .blob, .meeting, .wake, .noWake,
            .invite,
            .announcements:
            return true
        }
    }

    private static func receiving(_ tool: RecvTool, takesMail: Bool) -> Receiving {
        Receiving(
            isOfDead: tool.dead, follows: tool.follow, wait: tool.wait, maximum: tool.max,
            command: tool.exec, quiet: tool.quiet, takesMail: takesMail, form: tool.wire)
    }

    private static func room(_ tool: RecvTool, _ relay: AskedRelay) throws -> RoomRequest {
        let text = tool.room ?? ""
        guard let door = KeyID(RecipientArgument.pasted(text)) else {
            throw Failure(.usage, "\(text) is not the id of a door")
        }
        return RoomRequest(
            door: door, identity: tool.identity.choice, relay: relay, quiet: tool.quiet)
    }
}
