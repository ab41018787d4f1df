package import Sotto

/// The machines of Alice and Bob, and a relay, as built programs.
package final class World: Sendable {
    package let scratch = TemporaryDirectory()
    package let bob = Sample.identity()
    package let environment: [String: String]
    package let address: String

    package init(address: String) {
        self.address = address
        environment = [
            "SOTTO_HOME": scratch("state"), "SOTTO_RELAY": "tcp://\(address)",
            "SOTTO_IDENTITY": scratch("bob.key"),
        ]
        scratch.write("bob.key", bob.record.serialized())
    }

    /// Writes a file of envelopes to Bob. Returns their ids.
    package func envelopes(_ name: String, _ count: Int) -> [String] {
        let ids = (0..<count).map { _ in Envelope.newID() }
        let lines = ids.map { Sample.record($0, to: bob.id).serialized() + [0x0A] }
        scratch.write(name, Array(lines.joined()))
        return ids
    }

    package func command(
        _ program: String, _ arguments: [String] = [], input: String? = nil,
        output: String = "out", relay: String? = nil
    ) -> ChildProcess {
        var environment = environment
        if let relay { environment["SOTTO_RELAY"] = relay.isEmpty ? nil : relay }
        return ChildProcess(
            program, arguments, environment: environment,
            input: input.map { scratch($0) } ?? "/dev/null", output: scratch(output),
            errors: scratch("errors"))
    }

    package func run(
        _ program: String, _ arguments: [String] = [], input: String? = nil,
        output: String = "out", relay: String? = nil
    ) -> Int32 {
        command(program, arguments, input: input, output: output, relay: relay).wait()
    }

    package func ids(_ output: String) -> [String] { scratch.lines(output).map(Sample.id) }

    package func statuses(_ output: String) -> [String] {
        scratch.lines(output).map {
            (try? JSON.object(parsing: Array($0.utf8)))?["status"]?.string ?? ""
        }
    }

    package var errors: String {
        String(decoding: TemporaryDirectory.contents(scratch("errors")), as: UTF8.self)
    }
}
