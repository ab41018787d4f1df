import Foundation
import Sotto
import TestSupport
import Testing

/// The model of a rule by which members converge. DESIGN.md says what of it is in the code.
@Suite(.timeLimit(.minutes(60))) struct ConvergenceModelTests {
    /// Runs the model without some repairs. Returns the promises that it breaks.
    private func broken(_ arguments: [String], runs: Int) throws -> Set<String> {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Bench/group_have.py").path
        let run = try Command(
            path: "/usr/bin/python3", ["-I", "-B", script, "--runs", "\(runs)"] + arguments
        ).run()
        let promises = try #require(run.records.first?["broken"]?.object)
        let broken = promises.members.filter { $0.value.object?.members.isEmpty == false }.map(
            \.name)
        #expect(run.status == (broken.isEmpty ? 0 : 1), "\(run.stderr)")
        return Set(broken)
    }

    @Test func theRepairedRuleKeepsAllPromises() throws {
        #expect(try broken([], runs: 60) == [])
    }

    /// Each repair is needed: without it a promise breaks.
    @Test(arguments: [
        ("places", "two members"), ("heads", "progress"), ("first", "newcomer"),
        ("chain", "group"), ("answer", "held back"),
    ]) func withoutARepairAPromiseBreaks(repair: String, promise: String) throws {
        #expect(
            try broken(["--without", repair, "--promise", promise], runs: 60).contains(promise))
    }
}
