import Arguments
import SottoBytes
import SottoServer
import SottoTool
import SottoWire

/// The options for monitoring and wake-ups.
struct OperationsOptions: ArgumentGroup {
    @Option(
        "--monitor", value: "host:port",
        help: "Answer GET /healthz and /metrics on this loopback address.")
    var monitor: String?

    @Flag("--monitor-anywhere", help: "Allow --monitor an address that other machines reach.")
    var monitorAnywhere = false

    @Option(
        "--wake", value: "command",
        help:
            "Run this command, without a shell, for mail in mailboxes without a connected recipient."
    )
    var wake: String?

    @Option(
        "--wake-url", value: "url",
        help:
            "Post to this address for mail in mailboxes without a connected recipient: https://host/path, ntfy://host/prefix, or either with http."
    )
    var wakeURL: String?

    @Option(
        "--wake-allow", value: "host",
        help:
            "Let owners register wake-ups that are posted to this host over TLS, HOST or HOST:PORT; may be repeated."
    )
    var wakeAllow: [String] = []

    @Option(
        "--wake-every", value: "seconds",
        help: "The fewest seconds between two wake-ups of a mailbox. Default: 30.", values: .any)
    var wakeEvery: Int?

    /// Returns the plan that the options ask for.
    func plan() throws(Failure) -> OperationsPlan {
        var plan = OperationsPlan()
        plan.monitor = try monitorAddress()
        var methods: [WakePlan.Method] = []
        if let wake {
            guard let words = WakePlan.words(of: wake) else {
                throw Failure(
                    .usage, "--wake is not a command",
                    hint: "give a program and its arguments, or a shell: --wake \"sh -c '...'\"")
            }
            methods.append(.command(words))
        }
        if let wakeURL { methods.append(.post(try Self.address(wakeURL))) }
        let seconds = wakeEvery ?? 30
        guard (1...86_400).contains(seconds) else {
            throw Failure(.usage, "--wake-every must be between 1 and 86400 seconds")
        }
        guard wakeEvery == nil || !methods.isEmpty || !wakeAllow.isEmpty else {
            throw Failure(.usage, "--wake-every is only for --wake, --wake-url, --wake-allow")
        }
        if !wakeAllow.isEmpty {
            let hosts = try wakeAllow.map { host throws(Failure) in try Self.host(host) }
            plan.ownersWake = OwnersWakePlan(hosts: Set(hosts), every: Double(seconds))
        }
        if !methods.isEmpty { plan.wake = WakePlan(methods: methods, every: Double(seconds)) }
        return plan
    }

    /// Returns an allowed host with its port, which is that of HTTPS if none is given.
    private static func host(_ text: String) throws(Failure) -> String {
        guard !text.contains("/"), let address = try? WakeAddress("https://\(text)") else {
            throw Failure(
                .usage, "--wake-allow is not a host: \(text)",
                hint: "for example --wake-allow ntfy.sh")
        }
        return "\(address.host.lowercased()):\(address.port)"
    }

    private static func address(_ text: String) throws(Failure) -> WakeAddress {
        do throws(WakeAddress.Invalid) { return try WakeAddress(text) } catch {
            throw Failure(
                .usage, "--wake-url is not an address to post to",
                hint: "for example https://example.org/wake or ntfy://ntfy.sh/prefix")
        }
    }

    private func monitorAddress() throws(Failure) -> RelayURL? {
        guard let monitor else {
            guard !monitorAnywhere else {
                throw Failure(.usage, "--monitor-anywhere needs --monitor")
            }
            return nil
        }
        let address: RelayURL
        do throws(RelayURL.Invalid) { address = try RelayURL(name: monitor) } catch {
            throw Failure(
                .usage,
                error == .form
                    ? "--monitor is not host:port" : "the address of --monitor \(error.reason)",
                hint: "for example --monitor 127.0.0.1:9667")
        }
        let host = address.host
        let isLoopback =
            host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
        guard isLoopback || monitorAnywhere else {
            throw Failure(
                .configuration, "other machines can reach the address of --monitor: \(monitor)",
                hint: "use 127.0.0.1, or add --monitor-anywhere if a firewall protects it")
        }
        return address
    }

    /// Reports the start of a relay.
    func began(_ relay: Relay, _ say: (String) -> Void) {
        if let address = relay.monitorAddress { say("monitor on \(address)") }
        ServiceManager.watch(relay)
        ServiceManager.tell("READY=1")
    }
}
