public import Sotto
import SottoProgram
import SottoReports
public import SottoState
public import SottoWire

/// An error of a connection to a relay.
public enum ClientError: ReportableError, Sendable, Equatable {
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

    /// The text of the error message.
    public var message: String {
        switch self {
        case .unreachable(let relay, let cause): "cannot reach \(relay): \(cause)"
        case .lost(let relay): "the connection to \(relay) was lost"
        case .busy(let relay): "\(relay) has no free connection"
        case .otherName(let relay, _): "\(relay) is not the name that the relay was started with"
        case .loginRefused(let relay): "\(relay) refused the login"
        case .notAdmitted(let relay, _): "\(relay) serves only members, and this id is not a member"
        case .noCard(let relay): "\(relay) has no card for that id"
        case .forgedCard(let relay): "the card from \(relay) is not signed by that id"
        case .noRoom(let relay): "\(relay) has no room with that door"
        case .forgedRoom(let relay): "the room from \(relay) is not signed by its door"
        case .notARelay(let relay): "\(relay) does not answer as a relay"
        case .relayFull(let relay): "\(relay) has no disk space now"
        case .refused(let relay, let reason):
            "\(relay) refused the request" + (reason.map { " (\($0.rawValue))" } ?? "")
        case .noBundle(let relay): "\(relay) has no prekeys for that id"
        case .forgedBundle(let relay): "the prekeys from \(relay) are not signed by their owner"
        case .noBlob(let relay): "\(relay) does not have the file"
        case .forgedBlob(let relay): "the file from \(relay) is not the one of the message"
        case .untrusted(let relay): "the certificate of \(relay) is not trusted"
        case .otherKey(let relay): "the key of \(relay) is not the pinned one"
        case .certificates(let file): "cannot use the certificates in \(file)"
        case .replaced: "another recv with this identity took over its mailbox"
        case .state(let error): error.message
        }
    }

    /// The text of the hint.
    public var hint: String? {
        switch self {
        case .otherName(let relay, let names):
            "start the relay with --name \(relay.split(separator: "/").last ?? "")"
                + (names.isEmpty ? "" : ", or use the address \(names.joined(separator: " or "))")
        case .untrusted:
            "give its authority with --ca FILE, or pin its key: tls://host:port#sha256=…, as the relay prints it"
        case .otherKey:
            "compare the pin with the output of sotto relay check; a different key means an attack or a replaced relay"
        case .certificates: "use a PEM file"
        case .unreachable: "check that the relay runs and its address is right"
        case .state(let error): error.hint
        case .notAdmitted(_, hadCode: true):
            "the code is not from this relay, was used before, or has expired"
        case .notAdmitted: "ask its operator for a code, and pass it to sotto recv --invitation"
        case .noCard: "ask its owner to publish it: sotto keygen public | sotto send"
        case .noRoom: "compare the phrase and the relay with those of the other members"
        case .noBlob: "a relay deletes files after some days; ask the sender to send it again"
        case .noBundle: "ask their owner to publish prekeys through the same relay"
        case .lost, .busy, .loginRefused, .notARelay, .relayFull, .refused, .forgedCard,
            .forgedRoom, .forgedBundle, .forgedBlob:
            nil
        case .replaced: "run only one sotto recv, and use the identity on one machine only"
        }
    }

    /// The exit status, from sysexits(3).
    public var status: Int32 {
        switch self {
        case .unreachable, .lost, .busy, .notARelay, .refused: 69
        case .noBundle, .noCard, .noRoom, .noBlob: 1
        case .forgedBundle, .forgedCard, .forgedRoom, .forgedBlob: 11
        case .untrusted, .otherKey: 12
        case .otherName, .certificates: 78
        case .loginRefused, .notAdmitted: 77
        case .relayFull, .replaced: 75
        case .state(let error): error.status
        }
    }
}
