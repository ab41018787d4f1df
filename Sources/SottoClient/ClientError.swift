public import Sotto
public import SottoBytes
public import SottoNetwork
import SottoProgram
public import SottoState
public import SottoWire

/// An error of a connection to a relay.
public enum ClientError: Error, Sendable, Equatable {
    /// The relay cannot be reached; `cause` is the system's reason.
    case unreachable(relay: String, cause: String)
    /// No program accepts connections at the address.
    case connectionRefused(relay: String)
    /// The connection ended.
    case lost(relay: String)
    /// The relay has no free connection.
    case busy(relay: String)
    /// The relay's own name is not the one in its address; it has the names `names`.
    case otherName(relay: String, names: [String])
    /// The relay refused the login.
    case loginRefused(relay: String)
    /// The relay serves only members, and the id is not one of them, whether or not a code was given.
    case notAdmitted(relay: RelayURL, hadCode: Bool)
    /// The peer does not speak the relay protocol.
    case notARelay(relay: String)
    /// The relay cannot store data now because its disk is full.
    case relayFull(relay: String)
    /// The relay sends no wake-ups to that address.
    case wakeForbidden(relay: String)
    /// The member may not make more invitations.
    case noInvitations(relay: String)
    /// The relay refuses the request; `reason` is `nil` if it is unknown to this version.
    case refused(relay: String, reason: Reason?)
    /// The relay has no card for that id.
    case noCard(relay: String)
    /// The owner of the id revoked it.
    case revoked(Revocation)
    /// The card from the relay does not belong to the id.
    case forgedCard(relay: String)
    /// The relay has no room with that door.
    case noRoom(relay: String)
    /// The record of a room from the relay does not belong to the door.
    case forgedRoom(relay: String)
    /// The relay has no TURN servers.
    case noTurn(relay: String)
    /// The relay has no meeting with that number.
    case noMeeting(relay: String)
    /// The meeting has ended.
    case meetingOver(relay: String)
    /// The place has another message of this side: somebody used the number or the code before.
    case meetingTaken(relay: String)
    /// Nobody came in the time of the meeting.
    case meetingExpired(relay: String)
    /// The meeting was made under another name of the relay.
    case meetingElsewhere(relay: String)
    /// The relay sent a message that is not the next one of the meeting.
    case badMeeting(relay: String)
    /// The relay has no prekeys of that owner.
    case noBundle(relay: String)
    /// The bundle from the relay does not belong to the owner.
    case forgedBundle(relay: String)
    /// The relay has no blob with that id, or not all of it.
    case noBlob(relay: String)
    /// The relay has other bytes than the blob of the message.
    case forgedBlob(relay: String)
    /// Another consumer took over the mailbox.
    case replaced
    /// The inbox has no room; the relay keeps the envelopes.
    case inboxFull
    /// The relay sends or takes too few bytes in a long time.
    case tooSlow(relay: String)
    /// The relay's certificate is not trusted.
    case untrusted(relay: String, CertificateFlaw)
    /// The relay's key is not the pinned one.
    case otherKey(relay: String)
    /// The trusted certificates cannot be read from this file.
    case certificates(String)
    /// The file with the trusted certificates cannot be read.
    case noCertificates(String)
    /// Reading or writing the local state failed.
    case state(StateError)
}

extension ClientError {
    /// Whether a later attempt may succeed without a change by the user.
    public var isTransient: Bool {
        switch self {
        case .unreachable, .connectionRefused, .lost, .busy, .relayFull, .tooSlow: true
        case .wakeForbidden, .noInvitations, .otherName, .loginRefused, .notAdmitted, .notARelay,
            .refused, .noCard, .revoked, .forgedCard,
            .noRoom, .forgedRoom, .noTurn, .noMeeting, .meetingOver, .meetingTaken,
            .meetingExpired, .meetingElsewhere, .badMeeting, .noBundle, .forgedBundle, .noBlob,
            .forgedBlob,
            .replaced,
            .inboxFull, .untrusted, .otherKey, .certificates, .noCertificates, .state:
            false
        }
    }

    /// Whether a question that the user waits for may be asked again at once. A relay that does not run is reported: the
    /// address may be wrong, and nothing waits in an outbox.
    var isWorthAsking: Bool {
        if case .connectionRefused = self { return false }
        return isTransient
    }
}

extension ClientError: FailureError {
    private static let meetAgain =
        "begin again with a new code: sotto meet, or for a device: sotto device request --name NAME --relay URL --send"

    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .unreachable(let relay, let cause): Self.unreachable(relay, cause)
        case .connectionRefused(let relay): Self.unreachable(relay, "connection refused")
        case .lost(let relay):
            Failure(
                .unavailable, "the connection to \(relay) was lost",
                hint: ["tcp:", "ws:", "http:"].contains { relay.hasPrefix($0) }
                    ? "a relay with TLS may close other connections: tls:// in place of tcp://"
                    : nil)
        case .busy(let relay): Failure(.unavailable, "\(relay) has no free connection")
        case .otherName(let relay, let names):
            Failure(
                .configuration, "\(relay) is not the name that the relay was started with",
                hint: "start the relay with --name \(relay.split(separator: "/").last ?? "")"
                    + (names.isEmpty
                        ? "" : ", or use the address \(names.joined(separator: " or "))"))
        case .loginRefused(let relay): Failure(.permission, "\(relay) refused the login")
        case .notAdmitted(let relay, let hadCode):
            Failure(
                .permission, "\(relay) serves only members, and this id is not a member",
                hint:
                    hadCode
                    ? "the code is not from this relay, was used before, was ended, or has expired"
                    : "with a code from its operator, in a file: sotto recv --relay \(shellWord(relay.text)) --invitation @FILE:code"
            )
        case .notARelay(let relay): Failure(.unavailable, "\(relay) does not answer as a relay")
        case .relayFull(let relay): Failure(.tryAgain, "\(relay) has no disk space now")
        case .refused(let relay, let reason):
            Failure(
                .unavailable,
                "\(relay) refused the request" + (reason.map { " (\($0.rawValue))" } ?? ""))
        case .wakeForbidden(let relay):
            Failure(
                .permission, "\(relay) sends no wake-ups to that address",
                hint: "its operator names the allowed hosts with sotto relay --wake-allow")
        case .noInvitations(let relay):
            Failure(
                .permission, "\(relay) allows you no more invitations",
                hint:
                    "its operator sets the number with sotto relay --invitations-per-member, and an unused code counts until it expires or is ended"
            )
        case .noCard(let relay):
            Failure(
                .no, "\(relay) has no card for that id",
                hint: "ask its owner to publish it: sotto keygen public --send")
        case .revoked(let revocation):
            Failure(
                .untrusted, "the id \(revocation.id) is revoked by its owner",
                hint:
                    "to keep that for ever: sotto recv --card \(revocation.id) | sotto contact add")
        case .forgedCard(let relay):
            Failure(.authentication, "the card from \(relay) is not signed by that id")
        case .noRoom(let relay):
            Failure(
                .no, "\(relay) has no room with that door",
                hint: "compare the phrase and the relay with those of the other members")
        case .forgedRoom(let relay):
            Failure(.authentication, "the room from \(relay) is not signed by its door")
        case .noTurn(let relay):
            Failure(
                .no, "\(relay) has no TURN servers",
                hint: "its operator names them: sotto relay --turn-secret FILE --turn-uri URI")
        case .noMeeting(let relay):
            Failure(
                .no, "\(relay) has no meeting with that number",
                hint:
                    "a code is valid for ten minutes; from another relay, ask for the long form of the code, with @ and the relay"
            )
        case .meetingOver(let relay):
            Failure(
                .mismatch, "the meeting at \(relay) has ended",
                hint: Self.meetAgain)
        case .meetingTaken(let relay):
            Failure(
                .mismatch, "the code of the meeting at \(relay) was used before",
                hint: Self.meetAgain)
        case .meetingExpired(let relay):
            Failure(
                .no, "the meeting at \(relay) has expired; the other side did not finish it",
                hint: Self.meetAgain)
        case .meetingElsewhere(let relay):
            Failure(
                .configuration, "the meeting was made under another name of \(relay)",
                hint: "ask for the long form of the code, with @ and the relay")
        case .badMeeting(let relay):
            Failure(
                .malformed, "\(relay) sent a message that is not the next one of the meeting",
                hint: "begin again with a new code: sotto meet")
        case .noBundle(let relay):
            Failure(
                .no, "\(relay) has no prekeys for that id",
                hint: "ask their owner to publish prekeys through the same relay")
        case .forgedBundle(let relay):
            Failure(.authentication, "the prekeys from \(relay) are not signed by their owner")
        case .noBlob(let relay):
            Failure(
                .no, "\(relay) does not have the file",
                hint:
                    "a relay deletes files after some days; ask the sender to upload it again with sotto history repeat"
            )
        case .forgedBlob(let relay):
            Failure(.authentication, "the file from \(relay) is not the one of the message")
        case .replaced:
            Failure(
                .tryAgain, "another recv with this identity took over its mailbox",
                hint: "run only one sotto recv, and use the identity on one machine only")
        case .inboxFull:
            Failure(
                .tryAgain, "the inbox is full; the relay keeps the other envelopes",
                hint:
                    "decrypt its envelopes: sotto recv --again | sotto decrypt; or receive with --stateless"
            )
        case .tooSlow(let relay): Failure(.unavailable, "\(relay) is too slow")
        case .untrusted(let relay, let flaw): flaw.failure(of: relay)
        case .otherKey(let relay):
            Failure(
                .untrusted, "the key of \(relay) is not the pinned one",
                hint:
                    "compare the pin with the output of sotto relay check; a different key means an attack or a replaced relay"
            )
        case .certificates(let file):
            Failure(
                .configuration, "cannot use the certificates in \(file)", hint: "use a PEM file")
        case .noCertificates(let file):
            Failure(
                .noInput, "cannot read the certificates in \(file)",
                hint: "check the path of --ca or SOTTO_CA")
        case .state(let error): error.failure
        }
    }

    private static func unreachable(_ relay: String, _ cause: String) -> Failure {
        Failure(
            .unavailable, "cannot reach \(relay): \(cause)",
            hint: "check that the relay runs and its address is right")
    }
}

extension CertificateFlaw {
    /// The report. A certificate that expired or has another name is never to be pinned.
    fileprivate func failure(of relay: String) -> Failure {
        let certificate = "the certificate of \(relay)"
        switch self {
        case .expired(let date, nil):
            return Failure(
                .untrusted, "\(certificate) expired on \(date)",
                hint: "its operator must renew it; check also the clock of this machine")
        case .expired(let date, let authority?):
            return Failure(
                .untrusted,
                "\(certificate) is signed by \(authority), whose certificate expired on \(date)",
                hint: "its operator must renew it; check also the clock of this machine")
        case .notYetValid(let date):
            return Failure(
                .untrusted, "\(certificate) is not valid before \(date)",
                hint: "check the clock of this machine, or wait until that day")
        case .otherName(let host, let names):
            let others = names.isEmpty ? "another name" : names.joined(separator: ", ")
            return Failure(
                .untrusted, "\(certificate) is for \(others), not for \(host)",
                hint: "check the address; the relay needs a certificate with this name")
        case .selfSigned:
            return Failure(
                .untrusted, "\(certificate) is not trusted: it is self-signed",
                hint: Self.trust(relay))
        case .missingIssuer(let issuer):
            return Failure(
                .untrusted,
                "\(certificate) is not trusted: its issuer, \(issuer), is not known here, and the relay sends no intermediate certificate",
                hint:
                    "the relay must send the whole chain, with the intermediate certificates after its own; for an authority of your own: "
                    + Self.trust(relay))
        case .unknownAuthority(let authority):
            return Failure(
                .untrusted,
                "\(certificate) is not trusted: its authority, \(authority), is not known here",
                hint: Self.trust(relay))
        case .unknown:
            return Failure(.untrusted, "\(certificate) is not trusted", hint: Self.trust(relay))
        }
    }

    /// The ways to trust a relay. The pin is the one that the operator gives, and never that of the key which was just seen.
    private static func trust(_ relay: String) -> String {
        "give its authority with --ca FILE, or ask its operator for the pin of its key, and then, if it is your relay: sotto keygen set --relay \(shellWord(relay + "#sha256=PIN"))"
    }
}
