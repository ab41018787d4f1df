import Dispatch
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Sotto
import SottoDatabase
import SottoWire

/// The rules for the wake-ups that owners register.
public struct OwnersWakePlan: Sendable {
    /// The hosts that the operator allows, `host:port` in lower case.
    public var hosts: Set<String>
    /// The fewest seconds between two wake-ups of one mailbox, and between two attempts.
    public var every: Double
    /// Seconds after which a running wake-up is aborted.
    var timeout = 30.0
    /// Whether only TLS and public addresses are allowed; tests turn it off.
    var isStrict = true
    /// Returns the addresses of a host, and blocks; tests replace it.
    var resolve: @Sendable (_ host: String, _ port: Int) -> [SocketAddress] = {
        ResolvedHost.addresses(of: $0, port: $1)
    }

    /// How often a wake-up that failed is repeated.
    static let retries = 3

    /// Creates rules that allow these hosts; `every` is an interval in seconds.
    public init(hosts: Set<String>, every: Double) { (self.hosts, self.every) = (hosts, every) }

    /// Whether an owner may register an address.
    func admits(_ address: WakeAddress) -> Bool {
        (address.isSecure || !isStrict)
            && hosts.contains("\(address.host.lowercased()):\(address.port)")
    }

    var plan: WakePlan {
        var plan = WakePlan(methods: [], every: every)
        (plan.timeout, plan.retries) = (timeout, Self.retries)
        return plan
    }
}

/// Posts wake-ups where the owners of the mailboxes want them.
///
/// An owner chooses the address, and an attacker may be an owner. So the host must be one that the operator allows. Its
/// name is resolved once for each attempt, and if any of its addresses is private, the relay connects to none; otherwise
/// it connects to one of these addresses, and not to the name. It follows no redirection.
final class OwnersWake: WakeTarget {
    private let plan: OwnersWakePlan
    private let services: Services
    private let loop: any EventLoop
    /// The threads that resolve names.
    private let threads = NIOThreadPool(numberOfThreads: WakeUps.runningLimit)

    init(_ plan: OwnersWakePlan, _ services: Services, loop: any EventLoop) {
        (self.plan, self.services, self.loop) = (plan, services, loop)
        threads.start()
    }

    /// Returns which mailboxes are announced: those whose owners are admitted and registered an address that is still allowed.
    static func eligibilities(
        of subjects: [WakeUp.Subject], _ plan: OwnersWakePlan, _ services: Services
    ) throws(StoreError) -> [WakeUp.Subject: WakeUps.Eligibility] {
        var eligibilities = try Operations.eligibilities(of: subjects, services)
        let wakes = try services.store.wakes(
            of: Array(Set(subjects.map(\.mailbox))), at: services.policy.clock.minute)
        for subject in subjects where eligibilities[subject] != .foreign {
            eligibilities[subject] =
                registered(for: subject, wakes, plan) == nil ? .foreign : .known
        }
        return eligibilities
    }

    /// Returns the registration for a subject, or `nil`. Calls are announced as messages if there is none for calls.
    private static func registered(
        for subject: WakeUp.Subject, _ wakes: [StoredWake], _ plan: OwnersWakePlan
    ) -> StoredWake? {
        let own = wakes.filter {
            $0.mailbox == subject.mailbox && plan.admits($0.registration.address)
        }
        let call = own.first { subject.isCall && $0.registration.kind == .voip }
        return call ?? own.first { $0.registration.kind == .message }
    }

    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool> {
        let wake = loop.makePromise(of: StoredWake?.self)
        let (services, plan) = (services, plan)
        services.reader.async {
            do throws(StoreError) {
                let wakes = try services.store.wakes(
                    of: [wakeUp.mailbox], at: services.policy.clock.minute)
                wake.succeed(Self.registered(for: wakeUp.subject, wakes, plan))
            } catch .full {
                wake.succeed(nil)
            } catch {
                wake.succeed(nil)
                services.onFailure(error)
            }
        }
        return wake.futureResult.flatMap { wake in
            // The owner has fetched the mail or ended the registration meanwhile.
            guard let wake, wake.waiting > 0 else { return self.loop.makeSucceededFuture(true) }
            return self.post(wake, isCall: wakeUp.subject.isCall)
        }
    }

    func stop() { threads.shutdownGracefully { _ in } }

    private func post(_ wake: StoredWake, isCall: Bool) -> EventLoopFuture<Bool> {
        let (plan, loop) = (plan, loop)
        let address = wake.registration.address
        return threads.runIfActive(eventLoop: loop) {
            plan.resolve(address.host, address.port)
        }.flatMap { found -> EventLoopFuture<Bool> in
            guard let first = found.first, !plan.isStrict || !found.contains(where: \.isPrivate)
            else { return loop.makeSucceededFuture(false) }
            return Self.request(wake, isCall: isCall).run(
                timeout: .nanoseconds(Int64(plan.timeout * 1e9)), on: loop
            ) { $0.connect(to: first) }
        }.recover { _ in false }
    }

    private static func request(_ wake: StoredWake, isCall: Bool) -> WakeRequest {
        let registration = wake.registration
        let kind: WakeRegistration.Kind = isCall ? .voip : .message
        switch registration.address.form {
        case .json:
            return WakeRequest(
                registration.address,
                record: JSONObject([
                    ("kind", .string(kind.rawValue)),
                    ("token", registration.token.map { .string($0) }),
                    ("waiting", .integer(wake.waiting)),
                ]))
        case .ntfy:
            let number = "\(wake.waiting) \(wake.waiting == 1 ? "message waits" : "messages wait")"
            return WakeRequest(
                registration.address, path: registration.address.path,
                text: (registration.token.map { "\($0): " } ?? "") + number,
                headers: isCall ? ["priority": "urgent"] : [:])
        }
    }
}

/// The addresses of a host in the system's resolver.
enum ResolvedHost {
    /// Returns the addresses of a host with a port, or none. It blocks.
    static func addresses(of host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            switch entry.ai_family {
            case AF_INET:
                entry.ai_addr?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    addresses.append(SocketAddress($0.pointee))
                }
            case AF_INET6:
                entry.ai_addr?.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    addresses.append(SocketAddress($0.pointee))
                }
            default: break
            }
        }
        return addresses
    }
}

extension SocketAddress {
    /// Whether it is an address of this machine or of a private network, or no address of the Internet.
    var isPrivate: Bool {
        ipAddress.map { RelayURL(host: $0, port: 0).isInOwnNetwork } ?? true
    }
}
