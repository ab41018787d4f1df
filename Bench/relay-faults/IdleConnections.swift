import TestHarness

extension Row {
    /// Many silent connections, logged in over TLS.
    static let idleConnections = Row(
        name: "idle-connections",
        fault: "idle connections over TLS", goal: "at most 40 kB each"
    ) { scale in
        let count = scale.pick(small: 200, full: 10_000)
        let scratch = TemporaryDirectory()
        let options = [
            "--tls-cert", scratch("cert.pem"), "--tls-key", scratch("tls.key"),
            "--tls-self-signed",
        ]
        guard let subject = RelayUnderTest(scratch, options: options), let pin = subject.pin else {
            return .broken("no relay")
        }
        let status = ChildProcess.run(
            "relay-load",
            [
                "idle", "tls://\(subject.address)#sha256=\(pin)", "\(count)",
                "\(subject.relay.command.process)",
            ], output: scratch("figures"))
        let end = subject.relay.end()
        let figures = scratch.lines("figures").first?.split(separator: "\t") ?? []
        guard status == 0, figures.count == 3, let each = Double(figures[2]) else {
            return .broken("not all of \(count) connections were accepted")
        }
        return Outcome(
            count, "\(text(each)) kB each, exit \(end)", isGood: end == 0, isWithin: each <= 40)
    }
}
