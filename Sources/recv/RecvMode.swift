import Arguments

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
    case bundle = "--bundle"
    case card = "--card"
    case cardOf = "--card-of"
    case room = "--room"
    case blob = "--blob"
    case meeting = "--meeting"

    var title: String { self == .mail ? "receiving envelopes" : rawValue }

    var takes: String {
        switch self {
        case .mail: "\(Self.receiving) \(Self.identity) --invitation --no-bundles"
        case .stateless: "\(Self.receiving) -i --identity-passphrase --invitation --stateless"
        case .loginKey: "\(Self.receiving) --login-key --login-password --of --stateless --dead"
        case .again: "\(Self.identity) --again --max --json -q"
        case .dead:
            "\(Self.relay) \(Self.identity) --dead --stateless --invitation --exec --max --json -q"
        case .bundle: "\(Self.relay) \(Self.identity) --bundle --stateless -q"
        case .card: "\(Self.relay) \(Self.identity) --card -q"
        case .cardOf: "\(Self.relay) -i --identity-passphrase --card-of -q"
        case .room: "\(Self.relay) -i --identity-passphrase --room -q"
        case .meeting: "\(Self.relay) -i --identity-passphrase --meeting -q"
        case .blob: "\(Self.relay) \(Self.identity) --blob --keep -q"
        }
    }

    private static let relay = "--relay --ca"
    private static let identity = "-i --identity-passphrase --lock-timeout"
    private static let receiving = "\(relay) --follow --wait --max --exec --json -q"
}

extension RecvTool {
    /// The mode that the options select.
    var mode: RecvMode {
        if again { return .again }
        if bundle != nil { return .bundle }
        if card != nil { return .card }
        if cardOf != nil { return .cardOf }
        if room != nil { return .room }
        if blob != nil { return .blob }
        if meeting != nil { return .meeting }
        if loginKey != nil { return .loginKey }
        if dead { return .dead }
        return stateless ? .stateless : .mail
    }
}
