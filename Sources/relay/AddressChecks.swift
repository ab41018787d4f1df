import Glibc
import SottoProgram
import Sotto
import SottoServer
import SottoWire

/// Checks the addresses, names and certificate of a relay, and its wake-up methods.
enum AddressChecks {
    /// Returns the findings. With `isRunning` a relay runs with the store, so that the addresses are in use.
    static func findings(
        _ plan: RelayConfiguration, willMakeCertificate: Bool = false, isRunning: Bool = false
    ) -> [Finding] {
        var findings = listening(plan.listen, "listen", isRunning)
        let addresses = resolve(plan.listen) ?? []
        let isWildcard = addresses.contains { RelayAddresses.isWildcard($0.text) }
        if isWildcard, plan.names.isEmpty {
            findings.append(
                Finding(
                    .warning, "name",
                    "without --name, clients that connect to \(plan.listen.name) by host name cannot log in"
                ))
        }
        for name in plan.names {
            guard let url = try? RelayURL(name: name) else { continue }
            let found = (resolve(url) ?? []).map(\.text)
            findings.append(
                found.isEmpty
                    ? Finding(.warning, "name", "\(url.host) does not resolve on this machine")
                    : Finding(.ok, "name", "\(url.host) is \(found.joined(separator: " and "))"))
        }
        if let monitor = plan.operations.monitor {
            findings += listening(monitor, "monitor", isRunning)
        }
        for method in plan.operations.wake?.methods ?? [] { findings.append(wake(method)) }
        if willMakeCertificate {
            return findings + [
                Finding(.ok, "certificate", "the certificate and its key will be created")
            ]
        }
        return findings + certificates(plan)
    }

    /// Checks that the files for TLS can be read, belong together, and are valid now.
    private static func certificates(_ plan: RelayConfiguration) -> [Finding] {
        guard let files = plan.tls else { return [] }
        do throws(RelayError) {
            let validity = try files.validity()
            guard case .valid(let days) = validity else {
                return [Finding(.error, "certificate", validity.problem ?? "")]
            }
            if let problem = validity.problem {
                return [Finding(.warning, "certificate", problem)]
            }
            return [
                Finding(.ok, "certificate", "it matches its key and is valid for \(days) days"),
                Finding(.ok, "pin", "#sha256=\(hex(try files.pin()))"),
            ]
        } catch {
            return [Finding(.error, "certificate", error.failure.message)]
        }
    }

    private static func listening(
        _ address: RelayURL, _ topic: String, _ isRunning: Bool
    ) -> [Finding] {
        guard let addresses = resolve(address), !addresses.isEmpty else {
            return [Finding(.error, topic, "\(address.host) does not resolve")]
        }
        // The relay listens on the first address.
        let code = addresses[0].tryBinding()
        switch code {
        case 0: return [Finding(.ok, topic, "\(address.name) is free")]
        case EADDRINUSE where isRunning:
            return [Finding(.ok, topic, "\(address.name) is in use; the relay runs")]
        case EADDRINUSE:
            return [
                Finding(.error, topic, "\(address.name) is in use, perhaps by another relay")
            ]
        case EACCES, EPERM:
            return [Finding(.error, topic, "permission denied to listen on \(address.name)")]
        case EADDRNOTAVAIL:
            return [
                Finding(.error, topic, "this machine does not have the address \(address.host)")
            ]
        default:
            return [
                Finding(
                    .error, topic,
                    "cannot listen on \(address.name): \(String(cString: strerror(code)))")
            ]
        }
    }

    private static func wake(_ method: WakePlan.Method) -> Finding {
        switch method {
        case .command(let words):
            let program = words[0]
            let places =
                program.contains("/")
                ? [program]
                : (getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin")
                    .split(separator: ":").map { "\($0)/\(program)" }
            guard let place = places.first(where: { access($0, X_OK) == 0 }) else {
                return Finding(.error, "wake", "no such program: \(program)")
            }
            return Finding(.ok, "wake", "\(place) is executable")
        case .post(let address):
            let url = RelayURL(host: address.host, port: UInt16(address.port))
            guard let found = resolve(url), !found.isEmpty else {
                return Finding(.warning, "wake", "\(address.host) does not resolve")
            }
            return Finding(.ok, "wake", "\(address.host) is \(found[0].text)")
        }
    }

    /// An address of the operating system.
    struct SocketName {
        let family: Int32
        let bytes: [UInt8]
        let text: String

        /// Tries to listen on the address for a moment. Returns the error number, or 0.
        func tryBinding() -> Int32 {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            let descriptor = socket(family, type, 0)
            guard descriptor >= 0 else { return errno }
            defer { close(descriptor) }
            var yes: Int32 = 1
            setsockopt(
                descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            let isBound = bytes.withUnsafeBytes { raw in
                raw.withMemoryRebound(to: sockaddr.self) {
                    bind(descriptor, $0.baseAddress, socklen_t(raw.count)) == 0
                }
            }
            guard isBound, Glibc.listen(descriptor, 1) == 0 else { return errno }
            return 0
        }
    }

    /// Returns the addresses of a host, or `nil`.
    private static func resolve(_ url: RelayURL) -> [SocketName]? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(url.host, "\(url.port)", &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var names: [SocketName] = []
        var next = list
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: 64)
            let code = getnameinfo(
                entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                NI_NUMERICHOST)
            if code == 0 {
                let bytes = UnsafeRawBufferPointer(
                    start: entry.ai_addr, count: Int(entry.ai_addrlen))
                let name = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
                names.append(
                    SocketName(family: entry.ai_family, bytes: Array(bytes), text: name))
            }
            next = entry.ai_next
        }
        return names
    }
}
