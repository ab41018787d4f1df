import Glibc
import TestSupport
import Testing

/// The rows of `make faults`, with small loads.
@Suite(.timeLimit(.minutes(60))) struct FaultTableTests {
    private let scratch = TemporaryDirectory()

    private func run(_ arguments: [String]) -> (status: Int32, lines: [String]) {
        // The compiler of the fault shim may be anywhere in PATH.
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let status = ChildProcess.run(
            "relay-faults", arguments + [Programs.directory], environment: ["PATH": path],
            output: scratch("rows"), errors: scratch("errors"))
        return (status, scratch.lines("rows"))
    }

    @Test(.needs(.postgres, .compiler)) func everyFaultIsSurvived() {
        let (status, lines) = run(["--scale", "small"])
        #expect(status == 0)
        #expect(lines.filter { $0.contains("| MISSED |") } == [])
        // Eighteen rows below two header lines.
        #expect(lines.count == 20)
    }

    @Test func anUnknownRowIsAUsageError() {
        #expect(run(["--row", "none"]).status == 64)
    }
}
