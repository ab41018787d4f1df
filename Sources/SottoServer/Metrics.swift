import Glibc

/// The metrics of a relay: sums, never a mailbox, an id or an address.
struct Metrics: Sendable {
    private let services: Services
    private let registry: ConnectionRegistry
    private let store: String

    /// Creates the metrics of a running relay; `store` is the path of its store.
    init(services: Services, registry: ConnectionRegistry, store: String) {
        self.services = services
        self.registry = registry
        self.store = store
    }

    /// The health of the store.
    var health: CommitTimes.Health { services.policy.counters.commits.health() }

    /// All metrics, in Prometheus' text format 0.0.4.
    var text: String {
        var text = ""
        func add(_ name: String, _ kind: String, _ help: String, _ lines: [(String, String)]) {
            text += "# HELP sotto_relay_\(name) \(help)\n# TYPE sotto_relay_\(name) \(kind)\n"
            for (suffix, value) in lines { text += "sotto_relay_\(name)\(suffix) \(value)\n" }
        }
        let counts = services.policy.counters.all
        for (counter, name, help) in Self.counters {
            add("\(name)_total", "counter", help, [("", "\(counts[counter] ?? 0)")])
        }
        var gauges = [
            ("connections_open", "Open connections.", registry.count),
            ("consumers", "Mailboxes with a subscriber.", services.subscribers.count),
            ("queue_length", "Changes waiting for the next commit.", services.writer.queueLength),
            ("healthy", "1 if the store accepts messages, otherwise 0.", health == .good ? 1 : 0),
            (
                "clock_minutes_off",
                "Minutes that the clock is ahead of the newest time in the store and not accepted.",
                Int(services.policy.clock.error ?? 0)
            ),
        ]
        if let usage = try? services.blobs?.usage() {
            gauges.append(
                ("blobs_stored", "Blobs in the store, also incomplete ones.", usage.count))
            gauges.append(("blob_stored_bytes", "Bytes of blobs in the store.", Int(usage.bytes)))
        }
        if let free = Self.freeBytes(store) {
            gauges.append(
                ("store_free_bytes", "Free bytes of the store's file system.", free))
        }
        for (name, help, value) in gauges { add(name, "gauge", help, [("", "\(value)")]) }
        let commits = services.policy.counters.commits.histogram
        var lines: [(String, String)] = []
        var sum = 0
        for (limit, count) in zip(
            CommitTimes.Histogram.limits.map { "\($0)" } + ["+Inf"], commits.counts)
        {
            sum += count
            lines.append(("_bucket{le=\"\(limit)\"}", "\(sum)"))
        }
        lines += [("_sum", "\(commits.sum)"), ("_count", "\(sum)")]
        add("commit_seconds", "histogram", "Duration of commits in seconds.", lines)
        return text
    }

    private static let counters: [(Counters.Name, String, String)] = [
        (.connections, "connections", "Accepted connections."),
        (.stored, "stored", "Stored messages."),
        (.storedBytes, "stored_bytes", "Bytes of stored messages."),
        (.duplicates, "duplicates", "Messages that were already stored."),
        (.delivered, "delivered", "Messages delivered to their recipients."),
        (
            .deferred, "deferred",
            "Changes deferred because the store was full or a rate limit was reached."
        ),
        (.refused, "refused", "Refused requests."),
        (.failedLogins, "logins_failed", "Failed logins."),
        (.wakeUps, "wakeups", "Wake-ups sent."),
        (.failedWakeUps, "wakeups_failed", "Wake-ups that failed or were dropped."),
        (.signals, "signals", "Messages with a time to live of 0."),
        (.pushedSignals, "signals_pushed", "Messages with a time to live of 0 that were pushed."),
        (.blobs, "blobs", "Complete blobs that were uploaded."),
        (.blobBytesIn, "blob_received_bytes", "Bytes of blobs that were uploaded."),
        (.blobBytesOut, "blob_sent_bytes", "Bytes of blobs that were downloaded."),
        (
            .failedBlobs, "blobs_failed",
            "Requests that failed because the file of their blob could not be used."
        ),
    ]

    /// Returns the free bytes of a file's file system, or `nil` if they cannot be read.
    private static func freeBytes(_ path: String) -> Int? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return Int(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))
    }
}
