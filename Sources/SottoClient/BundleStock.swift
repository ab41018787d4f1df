import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
public import SottoState
import SottoWire
import Synchronization

/// Claims bundles of the prekeys of contacts and members of groups in advance, each from the relay on the owner's signed
/// card, and stores them.
///
/// Each owner is tried at most once a day. A failed claim is retried on another day: no message depends on it.
public final class BundleStock: Sendable {
    /// The time limit in seconds for the claims on one connection.
    public static let relaySeconds = 3.0
    /// Seconds between two searches for contacts that need a bundle.
    private static let pause = 3_600.0

    private let store: IdentityStore
    private let authorities: String?
    private let report: @Sendable (KeyID, _ relay: String) -> Void
    private let lookAt = Mutex(-Double.infinity)

    /// Creates a stock for the contacts in `store`. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``. `report` is called, on any thread, with the owner and the relay of a
    /// bundle that is not stored because it lacks the signature over both prekeys.
    public init(
        _ store: IdentityStore, authorities: String?,
        report: @escaping @Sendable (KeyID, _ relay: String) -> Void = { _, _ in }
    ) {
        self.store = store
        self.authorities = authorities
        self.report = report
    }

    /// Claims bundles for all contacts that need them, at several relays at once, within about `seconds`. Contacts for whom no
    /// time was left are tried in the next call, and otherwise new ones are looked for once an hour.
    public func fill(within seconds: Double) throws {
        let start = Monotonic.seconds()
        guard lookAt.withLock({ $0 <= start }) else { return }
        let due = try due()
        if !due.isEmpty {
            let group = RelayLink.makeGroup()
            defer { group.shutdownGracefully { _ in } }
            try concurrently(due) { relay, batches in
                for batch in batches {
                    let left = start + seconds - Monotonic.seconds()
                    // The other owners of a relay that took no batch are tried in a later search.
                    guard left > 0, try self.claim(batch, at: relay, on: group, within: left) else {
                        return
                    }
                }
            }
        }
        let now = Monotonic.seconds()
        if now < start + seconds { lookAt.withLock { $0 = now + Self.pause } }
    }

    /// Returns the owners of whom a bundle is needed, in batches, for each relay.
    private func due() throws -> [(relay: String, batches: [[KeyID]])] {
        let wishes = try store.preview { try $0.bundleWishes() }
        return Dictionary(grouping: wishes, by: \.relay).map { relay, wishes in
            let batches = stride(from: 0, to: wishes.count, by: WireLimits.claimCount).map {
                wishes[$0...].prefix(WireLimits.claimCount).map(\.owner)
            }
            return (relay, batches)
        }
    }

    /// Claims a batch of bundles. Returns whether the relay answered it.
    private func claim(
        _ owners: [KeyID], at address: String, on group: MultiThreadedEventLoopGroup,
        within seconds: Double
    ) throws -> Bool {
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
                claims, at: relay, on: group, timeout: min(seconds, Self.relaySeconds))
        else { return false }
        if !bundles.isEmpty {
            let stripped = try store.transaction { state in
                try bundles.filter { try !state.keep($0) }
            }
            for bundle in stripped { report(bundle.owner, relay.description) }
        }
        return true
    }
}

extension PreKeyClaim {
    /// Claims several owners' bundles in a batch without a login, within `timeout` seconds. Omits owners without a bundle
    /// on the relay, and bundles not signed by their owner.
    static func run(
        _ claims: [PreKeyClaim], at relay: RelayURL, on group: MultiThreadedEventLoopGroup,
        timeout: Double
    ) throws(ClientError) -> [PreKeyBundle] {
        let deadline = Monotonic.seconds() + timeout
        let events = EventQueue<RelayLink.Event>()
        let link = try RelayLink.open(to: relay, group: group, events: events, timeout: timeout)
        defer { link.close() }
        var others: [RelayLink.Event] = []
        let response = try link.ask(
            .claims(claims.map { Request.Claim(owner: $0.owner, id: $0.id) }),
            requestID: "claims", of: relay, events: events, others: &others,
            timeout: max(0, deadline - Monotonic.seconds()))
        guard case .bundles(let lines) = response else { throw ClientError(response, relay) }
        return zip(claims, lines).compactMap { $0.bundle(in: $1) }
    }

    /// Returns the bundle on a line if it belongs to the owner, else `nil`.
    func bundle(in line: [UInt8]?) -> PreKeyBundle? {
        guard let line, let record = try? JSON.object(parsing: line),
            let bundle = try? PreKeyBundle(record: record), bundle.owner == owner
        else { return nil }
        return bundle
    }
}
