import Glibc

/// What a relay says of itself to whoever watches it: sums, never a mailbox, an id or an address.
struct Figures: Sendable {
    private let services: Services
    private let registry: Registry
    private let store: String

    /// The figures of a running relay with its store in a file.
    init(services: Services, registry: Registry, store: String) {
        self.services = services
        self.registry = registry
        self.store = store
    }

    /// How the store is now.
    var health: CommitTimes.Health { services.counters.commits.health() }

    /// Everything, in Prometheus' text format 0.0.4.
    var text: String {
        var text = ""
        func add(_ name: String, _ kind: String, _ help: String, _ lines: [(String, String)]) {
            text += "# HELP sotto_relay_\(name) \(help)\n# TYPE sotto_relay_\(name) \(kind)\n"
            for (suffix, value) in lines { text += "sotto_relay_\(name)\(suffix) \(value)\n" }
        }
        let counts = services.counters.all
        for (counter, name, help) in Self.counters {
            add("\(name)_total", "counter", help, [("", "\(counts[counter] ?? 0)")])
        }
        var gauges = [
            ("connections_open", "Connections that are open.", registry.count),
            ("consumers", "Mailboxes that somebody is subscribed to.", services.hub.count),
            ("queue_length", "Changes that wait for the next commit.", services.writer.queueLength),
            ("healthy", "Whether the store takes messages: 1 or 0.", health == .good ? 1 : 0),
            (
                "clock_minutes_off",
                "Minutes that the clock is ahead of the newest time of the store, while that is not believed.",
                Int(services.clock.error ?? 0)
            ),
        ]
        if let free = Self.freeBytes(store) {
            gauges.append(
                ("store_free_bytes", "Free bytes of the file system of the store.", free))
        }
        for (name, help, value) in gauges { add(name, "gauge", help, [("", "\(value)")]) }
        let commits = services.counters.commits.histogram
        var lines: [(String, String)] = []
        var sum = 0
        for (limit, count) in zip(
            CommitTimes.Histogram.limits.map { "\($0)" } + ["+Inf"], commits.counts)
        {
            sum += count
            lines.append(("_bucket{le=\"\(limit)\"}", "\(sum)"))
        }
        lines += [("_sum", "\(commits.sum)"), ("_count", "\(sum)")]
        add("commit_seconds", "histogram", "How long commits took, in seconds.", lines)
        return text
    }

    private static let counters: [(Counters.Name, String, String)] = [
        (.connections, "connections", "Connections that were made."),
        (.stored, "stored", "Messages that were stored."),
        (.storedBytes, "stored_bytes", "Bytes of the messages that were stored."),
        (.duplicates, "duplicates", "Messages that had been stored before."),
        (.delivered, "delivered", "Messages that their recipients took."),
        (
            .deferred, "deferred",
            "Changes that were put off: for want of room, or too many at once."
        ),
        (.refused, "refused", "Requests that were refused."),
        (.failedLogins, "logins_failed", "Logins that failed."),
        (.wakeUps, "wakeups", "Wake-ups that were sent."),
        (.failedWakeUps, "wakeups_failed", "Wake-ups that failed or were left out."),
    ]

    /// The free bytes of the file system that a file is on; `nil` where there is none.
    private static func freeBytes(_ path: String) -> Int? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return Int(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))
    }
}
