import Glibc
import SottoDatabase
import SottoWire
import TestHarness

/// A relay that is killed and restarted on the same store and address.
struct RelayUnderTest {
    let scratch: TemporaryDirectory
    private let options: [String]
    private let store: String?
    private(set) var relay: RelayProcess
    /// The longest time, in seconds, from a start to the first answer.
    private(set) var slowestStart = 0.0

    /// Options with which no mailbox is ever full.
    static let roomy = [
        "--mailbox-messages", "100000000", "--mailbox-bytes", "100000000000",
    ]

    /// Starts a relay; returns `nil` if it does not start. The store is a file in `scratch`, unless `store` is the URL
    /// of a database.
    init?(
        _ scratch: TemporaryDirectory = TemporaryDirectory(), listen: String = "127.0.0.1:0",
        options: [String] = [],
        store: String? = nil, environment: [String: String] = [:]
    ) {
        (self.scratch, self.options, self.store) = (scratch, Self.roomy + options, store)
        guard
            let relay = RelayProcess(
                scratch, listen: listen, Self.roomy + options, store: store,
                environment: environment)
        else { return nil }
        self.relay = relay
    }

    var address: String { relay.address }

    /// The resident memory, in bytes.
    var memory: Int { process("VmRSS") }

    /// The peak memory since ``forgetPeak()``, in bytes.
    var peak: Int { process("VmHWM") }

    /// Resets ``peak``.
    func forgetPeak() {
        let file = open("/proc/\(relay.command.process)/clear_refs", O_WRONLY)
        _ = write(file, "5", 1)
        close(file)
    }

    private func process(_ name: String) -> Int {
        let status = TemporaryDirectory.contents("/proc/\(relay.command.process)/status")
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(name + ":") }
        let words = line?.split(whereSeparator: \.isWhitespace) ?? []
        return words.count > 1 ? (Int(words[1]) ?? 0) << 10 : 0
    }

    /// The pin of its key, from its log.
    var pin: String? {
        let mark = "#sha256="
        return scratch.lines("relay.log").lazy
            .compactMap { line in
                line.split(separator: " ").last { $0.contains(mark) }?
                    .split(separator: "=").last.map(String.init)
            }.first
    }

    /// Returns a metric from its monitor.
    func metric(_ name: String) -> Int? {
        let mark = "relay: monitor on "
        guard let line = scratch.lines("relay.log").last(where: { $0.hasPrefix(mark) }),
            let client = RawClient(reaching: String(line.dropFirst(mark.count)))
        else { return nil }
        client.send(Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        while let line = client.line() {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "sotto_relay_\(name)" { return Int(words[1]) }
        }
        return nil
    }

    /// Kills the relay.
    func kill() {
        relay.command.kill(SIGKILL)
        relay.command.wait()
    }

    /// Restarts the relay, and waits until it answers.
    mutating func restart(environment: [String: String] = [:]) -> Bool {
        let start = Monotonic.seconds()
        guard
            let next = RelayProcess(
                scratch, listen: address, options, store: store, environment: environment)
        else { return false }
        relay = next
        guard RawClient(reaching: address)?.ask(.ping) == .pong else { return false }
        slowestStart = max(slowestStart, Monotonic.seconds() - start)
        return true
    }

    /// Ends a load: waits for all answers, drains the mailboxes and counts.
    mutating func settle(_ load: Load) -> (acknowledged: Int, lost: Int, twice: Int)? {
        load.finish()
        let old = self
        let last = load.drain(relay) {
            RelayProcess(old.scratch, listen: old.address, old.options, store: old.store)
        }
        guard let last else { return nil }
        relay = last
        return load.ledger.counts
    }
}
