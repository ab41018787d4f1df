import Glibc
import SottoServer

/// The service manager that started this process, if it expects notifications: sd_notify(3) without its library.
enum ServiceManager {
    /// Whether a service manager expects notifications.
    static var isThere: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// Sends lines such as `READY=1`; does nothing without a service manager.
    static func tell(_ state: String) {
        guard let path = getenv("NOTIFY_SOCKET").map({ String(cString: $0) }),
            path.hasPrefix("/") || path.hasPrefix("@")
        else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        // A name that begins with @ is abstract, not in the file system.
        if path.hasPrefix("@") { name[0] = 0 }
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(state.utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(size))
            }
        }
    }

    /// Sends heartbeats at the interval that the service manager asks for, while the event loops run.
    static func watch(_ relay: Relay) {
        guard let interval = number("WATCHDOG_USEC"), interval > 0,
            number("WATCHDOG_PID").map({ $0 == Int(getpid()) }) ?? true
        else { return }
        relay.whileAlive(every: max(1_000, Double(interval) / 3) / 1e6) { tell("WATCHDOG=1") }
    }

    private static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }
    }
}
