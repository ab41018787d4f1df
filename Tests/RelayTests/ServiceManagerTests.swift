import Glibc
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// The notifications of a relay to its service manager.
@Suite struct ServiceManagerTests {
    let scratch = TemporaryDirectory()

    /// Returns a socket as a service manager's.
    func listen(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        HTTP.setTimeout(descriptor)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        precondition(isBound, "cannot bind \(path)")
        return descriptor
    }

    /// Returns the next datagram.
    func next(_ descriptor: Int32) -> String {
        var block = [UInt8](repeating: 0, count: 256)
        let count = recv(descriptor, &block, block.count, 0)
        return String(decoding: block.prefix(max(0, count)), as: UTF8.self)
    }

    @Test func startStopAndHeartbeatsAreReported() {
        let manager = listen(scratch("notify"))
        defer { close(manager) }
        let relay = ChildProcess(
            "relay",
            [
                "--listen", "127.0.0.1:0", "--store", scratch("relay.db"), "--ready-file",
                scratch("ready"),
            ],
            environment: ["NOTIFY_SOCKET": scratch("notify"), "WATCHDOG_USEC": "60000"])
        var told: Set<String> = []
        while told != ["READY=1", "WATCHDOG=1"] {
            let line = next(manager)
            told.insert(line)
            guard !line.isEmpty else { break }
        }
        #expect(told == ["READY=1", "WATCHDOG=1"])
        for _ in 0..<5 { #expect(next(manager) == "WATCHDOG=1") }
        relay.kill(SIGTERM)
        var line = next(manager)
        while line == "WATCHDOG=1" { line = next(manager) }
        #expect(line == "STOPPING=1")
        #expect(relay.wait() == 0)
    }

    @Test func aMissingSocketIsIgnored() {
        let relay = ChildProcess(
            "relay",
            [
                "--listen", "127.0.0.1:0", "--store", scratch("relay.db"), "--ready-file",
                scratch("ready"),
            ],
            environment: ["NOTIFY_SOCKET": scratch("nowhere"), "WATCHDOG_USEC": "1000000"])
        let deadline = Monotonic.seconds() + 20
        while scratch.lines("ready").isEmpty, Monotonic.seconds() < deadline { usleep(2_000) }
        #expect(!scratch.lines("ready").isEmpty)
        relay.kill(SIGTERM)
        #expect(relay.wait() == 0)
    }
}
