import Glibc
import NIOCore
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// The wake-ups that owners register.
@Suite(.timeLimit(.minutes(60))) struct OwnersWakeTests {
    let bob = Sample.identity()

    /// Returns a relay that posts to a listener on this machine, and the address of its monitor.
    func start(
        _ listener: HTTPListener, every: Double = 60,
        _ change: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> (running: RunningRelay, monitor: String) {
        let running = try RunningRelay { plan in
            var wake = OwnersWakePlan(hosts: ["127.0.0.1:\(listener.port)"], every: every)
            wake.isStrict = false
            plan.operations.ownersWake = wake
            plan.operations.monitor = RelayURL(host: "127.0.0.1", port: 0)
            change(&plan)
        }
        return (running, try #require(running.relay.monitorAddress))
    }

    func metric(_ name: String, _ monitor: String) -> Int {
        let line = (HTTP.get(monitor, "/metrics")?.body ?? "").split(separator: "\n")
            .first { $0.hasPrefix("sotto_relay_\(name) ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? -1
    }

    func until(_ condition: () -> Bool) {
        let deadline = Monotonic.seconds() + 60
        while !condition() {
            guard Monotonic.seconds() < deadline else {
                Issue.record("timed out")
                return
            }
            usleep(2_000)
        }
    }

    func registration(
        _ path: String, at listener: HTTPListener, scheme: String = "http",
        _ kind: WakeRegistration.Kind = .message, token: String? = nil
    ) throws -> WakeRegistration {
        try WakeRegistration(
            url: "\(scheme)://127.0.0.1:\(listener.port)\(path)", kind: kind, token: token)
    }

    /// Logs in as Bob and registers; the connection then ends.
    func register(_ registrations: WakeRegistration..., at running: RunningRelay) {
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        for registration in registrations {
            #expect(client.ask(.registerWake(registration)) == .stored)
        }
    }

    @Test func aWakeUpHasTheTokenAndTheNumberThatWaits() throws {
        let listener = HTTPListener()
        let (running, monitor) = try start(listener)
        let sender = running.client()
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        register(try registration("/up?x=1", at: listener, token: "mine"), at: running)
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let request = try #require(listener.request())
        #expect(request.line == "POST /up?x=1 HTTP/1.1")
        #expect(request.body == #"{"kind":"message","token":"mine","waiting":2}"#)
        until { metric("wakeups_total", monitor) == 1 }
        // Nobody registered for another mailbox, which is no failure.
        #expect(sender.ask(.send(Sample.envelope(to: Sample.identity().id))) == .stored)
        #expect(metric("wakeups_failed_total", monitor) == 0)
    }

    @Test func aTopicOfNtfyGetsAText() throws {
        let listener = HTTPListener()
        let (running, _) = try start(listener)
        register(
            try registration("/f3cOe9", at: listener, scheme: "ntfy+http"),
            try registration("/calls", at: listener, scheme: "ntfy+http", .voip, token: "t"),
            at: running)
        let sender = running.client()
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let request = try #require(listener.request())
        #expect(request.line == "POST /f3cOe9 HTTP/1.1" && request.body == "1 message waits")
        #expect(sender.ask(.send(Sample.envelope(to: bob.id, ttl: 60))) == .stored)
        let call = try #require(listener.request())
        #expect(call.line == "POST /calls HTTP/1.1" && call.body == "t: 2 messages wait")
    }

    /// Calls go where the owner wants calls, at once although a message was announced a short time ago.
    @Test func callsHaveTheirOwnRegistration() throws {
        let listener = HTTPListener()
        let (running, _) = try start(listener)
        register(
            try registration("/mail", at: listener),
            try registration("/calls", at: listener, .voip),
            at: running)
        let sender = running.client()
        for (ttl, line, kind) in [
            (nil, "POST /mail", "message"), (60, "POST /calls", "voip"),
        ] as [(Int64?, String, String)] {
            #expect(sender.ask(.send(Sample.envelope(to: bob.id, ttl: ttl))) == .stored)
            let request = try #require(listener.request())
            #expect(request.line.hasPrefix(line))
            #expect(request.body.contains(#""kind":"\#(kind)""#))
        }
    }

    @Test(arguments: [60, 61] as [Int64]) func withoutOneCallsAreAnnouncedAsMessages(
        _ ttl: Int64
    ) throws {
        let listener = HTTPListener()
        let (running, _) = try start(listener)
        register(try registration("/mail", at: listener), at: running)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id, ttl: ttl))) == .stored)
        let request = try #require(listener.request())
        #expect(request.line.hasPrefix("POST /mail"))
        #expect(request.body.contains(ttl == 60 ? "voip" : "message"))
    }

    @Test func onlyTheOwnerRegistersAnAllowedAddress() throws {
        let (listener, other) = (HTTPListener(), HTTPListener())
        let (running, _) = try start(listener)
        let client = running.client()
        let own = try registration("/", at: listener)
        #expect(client.ask(.registerWake(own)) == .error(Refusal(.loginRequired)))
        #expect(client.ask(.unregisterWake(nil)) == .error(Refusal(.loginRequired)))
        #expect(client.login(bob)?.isSession == true)
        let foreign = Sample.identity().id
        #expect(client.ask(.registerWake(own, of: foreign)) == .error(Refusal(.loginRequired)))
        #expect(client.ask(.unregisterWake(nil, of: foreign)) == .error(Refusal(.loginRequired)))
        for address in [
            "http://127.0.0.1:\(other.port)/", "http://localhost:\(listener.port)/",
            "https://example.org/",
        ] {
            let bad = try WakeRegistration(url: address, kind: .message, token: nil)
            #expect(client.ask(.registerWake(bad)) == .error(Refusal(.wakeForbidden)), "\(address)")
        }
        // A relay that allows no host takes none.
        let closed = try RunningRelay()
        let elsewhere = closed.client()
        #expect(elsewhere.login(bob)?.isSession == true)
        #expect(elsewhere.ask(.registerWake(own)) == .error(Refusal(.wakeForbidden)))
        #expect(elsewhere.ask(.unregisterWake(nil)) == .stored)
    }

    @Test func anEndedRegistrationCausesNoWakeUp() throws {
        let listener = HTTPListener()
        let (running, monitor) = try start(listener)
        register(try registration("/", at: listener), at: running)
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        #expect(client.ask(.unregisterWake(.voip)) == .stored)
        #expect(client.ask(.unregisterWake(nil)) == .stored)
        let (sender, other) = (running.client(), Sample.identity())
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        // The next mailbox is announced, so an announcement of the first would have come before.
        #expect(client.login(other)?.isSession == true)
        #expect(
            client.ask(.registerWake(try registration("/other", at: listener), of: other.id))
                == .stored)
        #expect(sender.ask(.send(Sample.envelope(to: other.id))) == .stored)
        #expect(listener.request()?.line == "POST /other HTTP/1.1")
        until { metric("wakeups_total", monitor) == 1 }
        #expect(!listener.hasConnection)
    }

    /// A failure is repeated three times, and a success ends it.
    @Test func aFailedWakeUpIsRepeated() throws {
        let listener = HTTPListener()
        let (running, monitor) = try start(listener, every: 0.05)
        register(try registration("/", at: listener), at: running)
        let sender = running.client()
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        for status in [500, 404, 200] { #expect(listener.request(answering: status) != nil) }
        until { metric("wakeups_total", monitor) == 1 }
        #expect(metric("wakeups_failed_total", monitor) == 2)
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        for _ in 0...OwnersWakePlan.retries { #expect(listener.request(answering: 500) != nil) }
        until { metric("wakeups_failed_total", monitor) == 2 + 1 + OwnersWakePlan.retries }
        // The next message begins anew.
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let last = try #require(listener.request())
        #expect(last.body.hasSuffix(#""waiting":3}"#), "\(last.body)")
    }

    @Test func noRedirectionIsFollowed() throws {
        let (listener, inside) = (HTTPListener(), HTTPListener())
        let (running, monitor) = try start(listener)
        register(try registration("/", at: listener), at: running)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id))) == .stored)
        _ = listener.request(
            answering: 307, headers: "Location: http://127.0.0.1:\(inside.port)/\r\n")
        until { metric("wakeups_failed_total", monitor) == 1 }
        #expect(!inside.hasConnection && metric("wakeups_total", monitor) == 0)
    }

    /// One private address among those of a host is enough to connect to none of them.
    @Test(arguments: ["127.0.0.1", "::1", "::ffff:127.0.0.1", "203.0.113.1 127.0.0.1", ""])
    func noPrivateAddressIsConnectedTo(_ addresses: String) throws {
        let listener = HTTPListener()
        let (running, monitor) = try start(listener) { plan in
            var wake = OwnersWakePlan(hosts: ["push.example:\(listener.port)"], every: 60)
            wake.resolve = { _, port in
                addresses.split(separator: " ").compactMap {
                    try? SocketAddress(ipAddress: String($0), port: port)
                }
            }
            plan.operations.ownersWake = wake
        }
        let url = "https://push.example:\(listener.port)/x"
        register(try WakeRegistration(url: url, kind: .message, token: nil), at: running)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id))) == .stored)
        until { metric("wakeups_failed_total", monitor) == 1 }
        #expect(!listener.hasConnection)
        // Without TLS nothing can be registered.
        let client = running.client()
        #expect(client.login(bob)?.isSession == true)
        let plain = "http://push.example:\(listener.port)/x"
        #expect(
            client.ask(.registerWake(try WakeRegistration(url: plain, kind: .message, token: nil)))
                == .error(Refusal(.wakeForbidden)))
    }

    /// The name is resolved once, and the relay connects to the address that was checked: a name that resolves to another address
    /// a moment later changes nothing.
    @Test func theCheckedAddressIsConnectedTo() throws {
        let (listener, inside) = (HTTPListener(), HTTPListener())
        let asked = Mutex(0)
        let (running, monitor) = try start(listener) { plan in
            var wake = OwnersWakePlan(hosts: ["push.invalid:80"], every: 60)
            wake.isStrict = false
            let ports = (Int(listener.port), Int(inside.port))
            wake.resolve = { _, _ in
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                let port = count == 1 ? ports.0 : ports.1
                return [try? SocketAddress(ipAddress: "127.0.0.1", port: port)].compactMap(\.self)
            }
            plan.operations.ownersWake = wake
        }
        let url = "http://push.invalid/x"
        register(try WakeRegistration(url: url, kind: .message, token: nil), at: running)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id))) == .stored)
        #expect(listener.request()?.line == "POST /x HTTP/1.1")
        until { metric("wakeups_total", monitor) == 1 }
        #expect(asked.withLock { $0 } == 1 && !inside.hasConnection)
    }

    @Test func privateAddressesAreKnown() throws {
        for address in [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.1", "198.18.0.1", "224.0.0.1",
            "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:10.0.0.1",
            "::ffff:169.254.169.254", "64:ff9b::a00:1", "64:ff9b:1::1", "2001::1", "2002:7f00:1::",
            "fc00::1", "fd00::1", "fe80::1", "fec0::1", "ff02::1",
        ] {
            #expect(try SocketAddress(ipAddress: address, port: 1).isPrivate, "\(address)")
        }
        for address in [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.128.0.1", "172.32.0.1", "192.1.0.1",
            "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
        ] {
            #expect(try !SocketAddress(ipAddress: address, port: 1).isPrivate, "\(address)")
        }
    }

    /// A removed member's registration stays in the store, and causes no wake-up.
    @Test func aRemovedMemberIsNotWoken() throws {
        let listener = HTTPListener()
        let (running, monitor) = try start(listener) { $0.admission.isByInvitation = true }
        let location = StoreLocation(running.scratch("relay.db"))
        let other = Sample.identity()
        try Membership.set([bob.id, other.id], isMember: true, in: location)
        register(try registration("/bob", at: listener), at: running)
        let client = running.client()
        #expect(client.login(other)?.isSession == true)
        #expect(client.ask(.registerWake(try registration("/other", at: listener))) == .stored)
        try Membership.set([bob.id], isMember: false, in: location)
        let sender = running.client()
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        #expect(sender.ask(.send(Sample.envelope(to: other.id))) == .stored)
        #expect(listener.request()?.line == "POST /other HTTP/1.1")
        until { metric("wakeups_total", monitor) == 1 }
        #expect(!listener.hasConnection)
    }

    /// On an open relay any id may log in: many new registrations need a proof of work, and one that the relay has does not.
    @Test func manyRegistrationsNeedWork() throws {
        let listener = HTTPListener()
        let (running, _) = try start(listener) { $0.surge = 2 }
        let own = try registration("/", at: listener)
        let client = running.client()
        let work = Response.error(Refusal(.workRequired))
        for place in 0..<4 {
            #expect(client.login(place == 0 ? bob : Sample.identity())?.isSession == true)
        }
        #expect(client.ask(.registerWake(own, of: bob.id)) == .stored)
        let others = (0..<3).map { _ in Sample.identity() }
        for (place, other) in others.enumerated() {
            #expect(client.login(other)?.isSession == true)
            let answer = client.ask(.registerWake(own, of: other.id))
            #expect(answer == (place == 0 ? .stored : work))
        }
        #expect(client.ask(.registerWake(own, of: bob.id)) == .stored)
        #expect(client.doWork())
        #expect(client.ask(.registerWake(own, of: others[2].id)) == .stored)
        #expect(client.ask(.registerWake(own, of: others[1].id)) == work)
    }

    /// The built `recv` over each transport: it registers, renews for a new address of the owner, and ends it.
    @Test(arguments: RelayURL.Scheme.allCases)
    func recvRegistersOverEachTransport(_ scheme: RelayURL.Scheme) throws {
        let listener = HTTPListener()
        let (running, _) = try start(listener) { $0.tls = TestCertificate.files }
        let world = World(address: running.relay.address)
        let pin = scheme.isSecure ? "#sha256=\(hex(try TestCertificate.files.pin()))" : ""
        let url = "\(scheme.rawValue)://\(running.relay.address)\(pin)"
        let target = "http://127.0.0.1:\(listener.port)/w"
        #expect(
            world.run("recv", ["--wake", target, "--wake-token", "t1"], relay: url) == 0,
            "\(world.errors)")
        #expect(world.errors.contains("expires after 30 days"), "\(world.errors)")
        let sender = running.client()
        #expect(sender.ask(.send(Sample.envelope(to: world.bob.id))) == .stored)
        #expect(
            listener.request()?.body == #"{"kind":"message","token":"t1","waiting":1}"#)
        // A new address is registered by the next login. Its mailbox is the `id` of the card for the contact.
        let card = Sample.identity().card().record?.serialized() ?? []
        let path = world.scratch.write("friend.card", card)
        #expect(world.run("contact", ["add", "--name", "friend", path]) == 0, "\(world.errors)")
        #expect(world.run("contact", ["address", "friend"], output: "own") == 0, "\(world.errors)")
        let own = try JSON.object(parsing: TemporaryDirectory.contents(world.scratch("own")))
        let address = try #require(own["address"]?.string.flatMap { KeyID($0) })
        #expect(world.run("recv", output: "mail", relay: url) == 0, "\(world.errors)")
        #expect(sender.ask(.send(Sample.envelope(to: address))) == .stored)
        #expect(listener.request()?.line == "POST /w HTTP/1.1")
        #expect(world.run("recv", ["--no-wake"], relay: url) == 0, "\(world.errors)")
        let client = running.client()
        #expect(client.login(world.bob)?.isSession == true)
        #expect(
            try StoreLocation(running.scratch("relay.db")).open(Retention(), isExclusive: false)
                .wakes(of: [world.bob.id, address], at: 0).isEmpty)
        // The relay refuses another host; the state then has no registration to renew.
        #expect(world.run("recv", ["--wake", "ntfy://ntfy.sh/x"], relay: url) == 77)
        #expect(world.errors.contains("--wake-allow"), "\(world.errors)")
        for bad in [["--wake", "ftp://a/b"], ["--wake", "https://a/", "--wake-token", "a b"]] {
            #expect(world.run("recv", bad, relay: url) == 64, "\(bad)")
        }
    }

    /// The built `relay` posts only over TLS and to public addresses: a host of `--wake-allow` whose name leads to this machine
    /// gets no connection.
    @Test(arguments: ["tcp", "http"]) func theBuiltRelayPostsToNoPrivateAddress(
        _ scheme: String
    ) throws {
        let listener = HTTPListener()
        let place = TemporaryDirectory()
        let host = "localhost:\(listener.port)"
        let relay = try #require(
            RelayProcess(place, ["--wake-allow", host, "--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(place))
        let world = World(address: relay.address)
        let url = "\(scheme)://\(relay.address)"
        #expect(
            world.run("recv", ["--wake", "https://\(host)/w"], relay: url) == 0, "\(world.errors)")
        #expect(
            world.run("recv", ["--wake", "ntfy://\(host)/w", "--kind", "voip"], relay: url) == 0,
            "\(world.errors)")
        for other in ["http://\(host)/w", "https://localhost/w", "ntfy://ntfy.sh/w"] {
            #expect(world.run("recv", ["--wake", other], relay: url) == 77, "\(other)")
        }
        let sender = RawClient(relay.address)
        #expect(sender.ask(.send(Sample.envelope(to: world.bob.id))) == .stored)
        until { metric("wakeups_failed_total", monitor) == 1 }
        #expect(!listener.hasConnection && metric("wakeups_total", monitor) == 0)
        #expect(world.run("recv", ["--no-wake", "--kind", "voip"], relay: url) == 0)
        #expect(world.run("recv", ["--no-wake"], relay: url) == 0, "\(world.errors)")
        #expect(relay.end() == 0)
        #expect(
            try StoreLocation(place("relay.db")).open(Retention()).wakes(of: [world.bob.id], at: 0)
                .isEmpty)
    }
}
