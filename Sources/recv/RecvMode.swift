public import Arguments
public import SottoWire

/// The ways to use `recv`, with the options of each. An option that a mode does not list is refused in it.
enum RecvMode: String, CommandMode {
    /// Envelopes for the identity.
    case mail = ""
    /// Envelopes for the identity, without an inbox.
    case stateless = "--stateless"
    /// Envelopes for the owner of an RSA login key.
    case loginKey = "--login-key"
    case again = "--again"
    case dead = "--dead"
    case forget = "--forget"
    case bundle = "--bundle"
    case card = "--card"
    case cardOf = "--card-of"
    case room = "--room"
    case turn = "--turn"
    case blob = "--blob"
    case meeting = "--meeting"
    case wake = "--wake"
    case noWake = "--no-wake"
    case invite = "--invite"
    case announcements = "--announcements"

    var title: String { self == .mail ? "receiving envelopes" : rawValue }

    var takes: String {
        switch self {
        case .mail: "\(Self.receiving) \(Self.identity) --invitation --no-bundles"
        case .stateless: "\(Self.receiving) -i --identity-passphrase --invitation --stateless"
        case .loginKey: "\(Self.receiving) --login-key --login-password --of --stateless --dead"
        case .again: "\(Self.identity) --again --max --json -q"
        case .forget: "\(Self.identity) --forget -q"
        case .dead:
            "\(Self.relay) \(Self.identity) --dead --stateless --invitation --exec --max --json -q"
        case .bundle: "\(Self.relay) \(Self.identity) --bundle --stateless -q"
        case .card: "\(Self.relay) \(Self.identity) --card -q"
        case .cardOf: "\(Self.relay) -i --identity-passphrase --card-of -q"
        case .room: "\(Self.relay) -i --identity-passphrase --room -q"
        case .turn: "\(Self.relay) -i --identity-passphrase --turn -q"
        case .meeting: "\(Self.relay) -i --identity-passphrase --meeting -q"
        case .wake: "\(Self.relay) \(Self.identity) --wake --kind --wake-token -q"
        case .noWake: "\(Self.relay) \(Self.identity) --no-wake --kind -q"
        case .invite: "\(Self.relay) -i --identity-passphrase --invite --label -q"
        case .announcements: "\(Self.relay) -i --identity-passphrase --announcements -q"
        case .blob: "\(Self.relay) \(Self.identity) --blob --keep -q"
        }
    }

    private static let relay = "--relay --ca"
    private static let identity = "-i --identity-passphrase --lock-timeout"
    private static let receiving =
        "\(relay) --protocol --follow --wait --poll-every --max --exec --json -q"
}

extension RecvTool {
    /// The mode that the options select.
    var mode: RecvMode {
        if again { return .again }
        if !forget.isEmpty { return .forget }
        if bundle != nil { return .bundle }
        if card != nil { return .card }
        if cardOf != nil { return .cardOf }
        if room != nil { return .room }
        if turn { return .turn }
        if blob != nil { return .blob }
        if meeting != nil { return .meeting }
        if wake != nil { return .wake }
        if noWake { return .noWake }
        if invite { return .invite }
        if announcements { return .announcements }
        if loginKey != nil { return .loginKey }
        if dead { return .dead }
        return stateless ? .stateless : .mail
    }
}

extension RelayProtocol: ExpressibleByArgument {}
