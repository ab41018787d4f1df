import Sotto
import SottoTool

/// The failure of a reception as a record for the next program of a pipe.
///
/// Without it the next program would see only an empty input, and end with 1 as if no mail waited.
final class FailureRecord {
    /// Whether an envelope was printed. The next program has an input then, and its status hides no other one.
    var hasPrinted = false

    /// Runs a reception. If it fails before an envelope was printed, prints the failure into a pipe; not into a file, which the next run may
    /// append to, and not on a terminal.
    func write(onFailureOf body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            let failure = (error as? Failure) ?? RecvTool.failure(for: error)
            if let failure, !hasPrinted, ![.no, .closedPipe].contains(failure.status),
                Terminal.isPipe(1)
            {
                // The failure itself is reported, whatever becomes of its record.
                try? print(failure)
            }
            throw error
        }
    }

    private func print(_ failure: Failure) throws {
        var outcome = LineOutcome()
        let output = try Output(path: nil, content: .text)
        try output.writeRecord(outcome.failed(failure, line: 0))
        try output.finish()
    }
}
