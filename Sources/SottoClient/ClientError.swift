public import Sotto
public import SottoState
public import SottoWire

/// Why a conversation with a relay did not come about, or ended.
public enum ClientError: ReportableError, Sendable, Equatable {
    /// No connection; `cause` is the system's word for it.
    case unreachable(relay: String, cause: String)
    /// The connection ended.
    case lost(relay: String)
    /// The relay has no connection to give.
    case busy(relay: String)
    /// The relay does not know itself by the name that was dialled, but by `names`.
    case otherName(relay: String, names: [String])
    /// The relay refused the login.
    case loginRefused(relay: String)
    /// The relay is for its members, and the id is none of them, perhaps in spite of a code.
    case notAdmitted(relay: String, hadCode: Bool)
    /// What came is not the relay protocol.
    case notARelay(relay: String)
    /// The relay does not take it now, because its disk is full.
    case putOff(relay: String)
    /// The relay does not do what it was asked; `reason` is `nil` for one that we do not know.
    case refused(relay: String, reason: Reason?)
    /// The relay has no card of that id.
    case noCard(relay: String)
    /// The card that the relay handed out is not that of the id.
    case forgedCard(relay: String)
    /// The relay has no prekeys of the owner.
    case noBundle(relay: String)
    /// What the relay handed out is not the owner's.
    case forgedBundle(relay: String)
    /// Another consumer took over.
    case replaced
    /// The relay's certificate is nobody's that we trust.
    case untrusted(relay: String)
    /// The relay's key is not the one that was pinned.
    case otherKey(relay: String)
    /// The certificates to trust cannot be read from this file.
    case certificates(String)
    /// The local state failed.
    case state(StateError)
}

extension ClientError {
    /// Whether a later attempt may succeed by itself.
    public var isPassing: Bool {
        switch self {
        case .unreachable, .lost, .busy, .putOff: true
        case .otherName, .loginRefused, .notAdmitted, .notARelay, .refused, .noCard, .forgedCard,
            .noBundle, .forgedBundle, .replaced, .untrusted, .otherKey, .certificates, .state:
            false
        }
    }

    /// What went wrong, in the form of a tool's error message.
    public var message: String {
        switch self {
        case .unreachable(let relay, let cause): "cannot reach \(relay): \(cause)"
        case .lost(let relay): "the connection to \(relay) was lost"
        case .busy(let relay): "\(relay) has too much to do"
        case .otherName(let relay, _): "\(relay) does not go by the name that was dialled"
        case .loginRefused(let relay): "\(relay) refused the login"
        case .notAdmitted(let relay, _): "\(relay) is for its members, and this id is none of them"
        case .noCard(let relay): "\(relay) has no card of that id"
        case .forgedCard(let relay): "the card from \(relay) is not signed by that id"
        case .notARelay(let relay): "\(relay) does not answer as a relay"
        case .putOff(let relay): "\(relay) has no room now"
        case .refused(let relay, let reason):
            "\(relay) refused the request" + (reason.map { " (\($0.rawValue))" } ?? "")
        case .noBundle(let relay): "\(relay) has no prekeys of that id"
        case .forgedBundle(let relay): "the prekeys from \(relay) are not signed by their owner"
        case .untrusted(let relay): "the certificate of \(relay) is not to be trusted"
        case .otherKey(let relay): "the key of \(relay) is not the one that is pinned"
        case .certificates(let file): "cannot use the certificates in \(file)"
        case .replaced: "another recv took over this identity's mailbox"
        case .state(let error): error.message
        }
    }

    /// What to do about it.
    public var hint: String? {
        switch self {
        case .otherName(let relay, let names):
            "start the relay with --name \(relay.split(separator: "/").last ?? "")"
                + (names.isEmpty ? "" : ", or dial it as \(names.joined(separator: " or "))")
        case .untrusted:
            "name its authority with --ca FILE, or pin its key: tls://host:port#sha256=…, as the relay prints it"
        case .otherKey:
            "compare the pin with what relay check prints; if the relay has another key, somebody is between, or it was replaced"
        case .certificates: "it must be a PEM file"
        case .unreachable: "is the relay running, and its address right?"
        case .state(let error): error.hint
        case .notAdmitted(_, hadCode: true):
            "the code is not one of this relay's, or was redeemed, or is too old"
        case .notAdmitted: "ask whoever runs it for a code, and give it to recv --invitation"
        case .noCard: "its owner gives it to the relay: keygen public | send"
        case .noBundle: "their owner publishes prekeys through the same relay"
        case .lost, .busy, .loginRefused, .notARelay, .putOff, .refused, .forgedCard, .forgedBundle,
            .replaced:
            nil
        }
    }

    /// The number of the exit status, as sysexits(3) has it.
    public var status: Int32 {
        switch self {
        case .unreachable, .lost, .busy, .notARelay, .refused: 69
        case .noBundle, .noCard: 1
        case .forgedBundle, .forgedCard: 11
        case .untrusted, .otherKey: 12
        case .otherName, .certificates: 78
        case .loginRefused, .notAdmitted: 77
        case .putOff, .replaced: 75
        case .state(let error): error.status
        }
    }
}
