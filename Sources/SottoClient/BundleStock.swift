import NIOPosix
import Sotto
import SottoDatabase
public import SottoState
import SottoWire

/// Claims bundles of contacts' prekeys in advance, each from the relay on the contact's signed card, and stores them.
///
/// Each contact is tried at most once a day. A failed claim is retried on another day: no message depends on it.
public final class BundleStock {
    /// The maximum number of claims on one connection.
    public static let claimsPerRelay = 20
    /// The time limit in seconds for one relay.
    public static let relaySeconds = 3.0
    /// Seconds between two searches for contacts that need a bundle.
    private static let pause = 3_600.0

    private let store: IdentityStore
    private let authorities: String?
    private var pending: [(relay: String, owners: [SessionID])] = []
    private var lookAt = 0.0
    /// The event loop of all claims; it lives until the process ends.
    private lazy var group = RelayLink.makeGroup()

    /// Creates a stock for the contacts in `store`. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``.
    public init(_ store: IdentityStore, authorities: String?) {
        self.store = store
        self.authorities = authorities
    }

    /// Claims bundles from one relay if contacts need them. Returns false if no contact needs one.
    public func step() throws -> Bool {
        if pending.isEmpty {
            guard Monotonic.seconds() >= lookAt else { return false }
            lookAt = Monotonic.seconds() + Self.pause
            pending = try due()
        }
        guard let (relay, owners) = pending.popLast() else { return false }
        try claim(owners, at: relay)
        return true
    }

    /// Claims bundles for all contacts that need them, within about `seconds`.
    public func fill(within seconds: Double) throws {
        let deadline = Monotonic.seconds() + seconds
        while Monotonic.seconds() < deadline, try step() {}
    }

    private func due() throws -> [(relay: String, owners: [SessionID])] {
        let wishes = try store.preview { try $0.bundleWishes() }
        return Dictionary(grouping: wishes, by: \.relay).map { relay, wishes in
            (relay, wishes.prefix(Self.claimsPerRelay).map(\.owner))
        }
    }

    private func claim(_ owners: [SessionID], at address: String) throws {
        // Records the attempt first, so that the next one is tomorrow even if this one fails.
        let claims = try store.transaction { state in
            var claims: [PreKeyClaim] = []
            for owner in owners {
                claims.append(PreKeyClaim(owner: owner, id: try state.beginClaim(for: owner)))
            }
            return claims
        }
        guard let relay = try? RelayAddress.read(address, authorities: authorities),
            let bundles = try? PreKeyClaim.run(
                claims, at: relay, on: group, timeout: Self.relaySeconds),
            !bundles.isEmpty
        else { return }
        try store.transaction { state in
            for bundle in bundles { try state.keep(bundle) }
        }
    }
}

extension PreKeyClaim {
    /// Claims several owners' bundles on one connection without a login, within `timeout` seconds. Omits owners without
    /// a bundle on the relay, and bundles not signed by their owner.
    static func run(
        _ claims: [PreKeyClaim], at relay: RelayURL, on group: MultiThreadedEventLoopGroup,
        timeout: Double
    ) throws(ClientError) -> [PreKeyBundle] {
        let deadline = Monotonic.seconds() + timeout
        let events = EventQueue<RelayLink.Event>()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: timeout)
        defer { link.close() }
        var bundles: [PreKeyBundle] = []
        for (number, claim) in claims.enumerated() {
            var others: [RelayLink.Event] = []
            let left = deadline - Monotonic.seconds()
            guard left > 0 else { break }
            let response: Response
            do throws(ClientError) {
                response = try link.ask(
                    .claim(owner: claim.owner, id: claim.id), requestID: "claim-\(number)",
                    of: relay, events: events, others: &others, timeout: left)
            } catch {
                // The bundles received before the error are valid.
                break
            }
            guard let bundle = claim.bundle(in: response) else { continue }
            bundles.append(bundle)
        }
        return bundles
    }

    /// Returns the bundle in a response if it belongs to the owner, else `nil`.
    private func bundle(in response: Response) -> PreKeyBundle? {
        guard case .bundle(let line) = response,
            let record = try? JSON.object(parsing: line),
            let bundle = try? PreKeyBundle(record: record), bundle.owner == owner
        else { return nil }
        return bundle
    }
}
