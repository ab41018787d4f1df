public import Sotto
public import SottoProgram
import SottoReports
public import SottoState
public import SottoWire

/// An error of a connection to a relay.
public enum ClientError: Error, Sendable, Equatable {
    /// The relay cannot be reached; `cause` is the system's reason.
    case unreachable(relay: String, cause: String)
    /// The connection ended.
    case lost(relay: String)
    /// The relay has no free connection.
    case busy(relay: String)
    /// The relay's own name is not the one in its address; it has the names `names`.
    case otherName(relay: String, names: [String])
    /// The relay refused the login.
    case loginRefused(relay: String)
    /// The relay serves only members, and the id is not one of them, whether or not a code was given.
    case notAdmitted(relay: String, hadCode: Bool)
    /// The peer does not speak the relay protocol.
    case notARelay(relay: String)
    /// The relay cannot store data now because its disk is full.
    case relayFull(relay: String)
    /// The relay refuses the request; `reason` is `nil` if it is unknown to this version.
    case refused(relay: String, reason: Reason?)
    /// The relay has no card for that id.
    case noCard(relay: String)
    /// The card from the relay does not belong to the id.
    case forgedCard(relay: String)
    /// The relay has no room with that door.
    case noRoom(relay: String)
    /// The record of a room from the relay does not belong to the door.
    case forgedRoom(relay: String)
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
    /// The relay's certificate is not trusted.
    case untrusted(relay: String)
    /// The relay's key is not the pinned one.
    case otherKey(relay: String)
    /// The trusted certificates cannot be read from this file.
    case certificates(String)
    /// Reading or writing the local state failed.
    case state(StateError)
}

extension ClientError {
    /// Whether a later attempt may succeed without a change by the user.
    public var isTransient: Bool {
        switch self {
        case .unreachable, .lost, .busy, .relayFull: true
        case .otherName, .loginRefused, .notAdmitted, .notARelay, .refused, .noCard, .forgedCard,
            .noRoom, .forgedRoom, .noBundle, .forgedBundle, .noBlob, .forgedBlob, .replaced,
            .untrusted, .otherKey, .certificates, .state:
            false
        }
    }
}

extension ClientError: FailureError {
    /// The report.
    public var failure: Failure {
        switch self {
        case .unreachable(let relay, let cause):
            Failure(
                .unavailable, "cannot reach \(relay): \(cause)",
                hint: "check that the relay runs and its address is right")
        case .lost(let relay): Failure(.unavailable, "the connection to \(relay) was lost")
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
                hint: hadCode
                    ? "the code is not from this relay, was used before, or has expired"
                    : "ask its operator for a code, and pass it to sotto recv --invitation")
        case .notARelay(let relay): Failure(.unavailable, "\(relay) does not answer as a relay")
        case .relayFull(let relay): Failure(.tryAgain, "\(relay) has no disk space now")
        case .refused(let relay, let reason):
            Failure(
                .unavailable,
                "\(relay) refused the request" + (reason.map { " (\($0.rawValue))" } ?? ""))
        case .noCard(let relay):
            Failure(
                .no, "\(relay) has no card for that id",
                hint: "ask its owner to publish it: sotto keygen public | sotto send")
        case .forgedCard(let relay):
            Failure(.authentication, "the card from \(relay) is not signed by that id")
        case .noRoom(let relay):
            Failure(
                .no, "\(relay) has no room with that door",
                hint: "compare the phrase and the relay with those of the other members")
        case .forgedRoom(let relay):
            Failure(.authentication, "the room from \(relay) is not signed by its door")
        case .noBundle(let relay):
            Failure(
                .no, "\(relay) has no prekeys for that id",
                hint: "ask their owner to publish prekeys through the same relay")
        case .forgedBundle(let relay):
            Failure(.authentication, "the prekeys from \(relay) are not signed by their owner")
        case .noBlob(let relay):
            Failure(
                .no, "\(relay) does not have the file",
                hint: "a relay deletes files after some days; ask the sender to send it again")
        case .forgedBlob(let relay):
            Failure(.authentication, "the file from \(relay) is not the one of the message")
        case .replaced:
            Failure(
                .tryAgain, "another recv with this identity took over its mailbox",
                hint: "run only one sotto recv, and use the identity on one machine only")
        case .untrusted(let relay):
            Failure(
                .untrusted, "the certificate of \(relay) is not trusted",
                hint:
                    "give its authority with --ca FILE, or pin its key: tls://host:port#sha256=…, as the relay prints it"
            )
        case .otherKey(let relay):
            Failure(
                .untrusted, "the key of \(relay) is not the pinned one",
                hint:
                    "compare the pin with the output of sotto relay check; a different key means an attack or a replaced relay"
            )
        case .certificates(let file):
            Failure(
                .configuration, "cannot use the certificates in \(file)", hint: "use a PEM file")
        case .state(let error): error.failure
        }
    }
}
