import Sotto
import SottoState
import TestSupport
import Testing

/// The outbox of a party. Its relay cannot be reached, so the test gives the outcomes.
extension Party {
    private static let relay = "tcp://127.0.0.1:1"

    /// Opens the outbox in this process.
    func outbox() throws -> Outbox {
        try Outbox(directory: StateDirectory(path: home.files(stateDirectory)), lockTimeout: 20)
    }

    /// Gives envelopes to `send`, which keeps them in the outbox, or in that of another installation.
    func queue(_ envelopes: [String], in installation: String? = nil) throws {
        let other = installation.map { ["SOTTO_HOME": home.files($0)] } ?? [:]
        let run = try home.run(
            "send", ["--relay", Self.relay], stdin: .whole(lines(envelopes)),
            environment: environment.merging(other) { $1 })
        #expect(run.status == 75, "\(run.stderr)")
    }

    /// Returns the numbers of the waiting envelopes.
    func waiting() throws -> [Int64] {
        try outbox().waiting(relay: Self.relay, after: 0, limit: 100).map(\.number)
    }

    /// Gives all waiting envelopes an outcome, as `send` does.
    func settle(_ outcome: String) throws {
        try outbox().settle(waiting().map { ($0, outcome) })
    }
}
