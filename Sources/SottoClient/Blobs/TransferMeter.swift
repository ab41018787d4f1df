import Glibc
import SottoDatabase
import SottoProgram
import Synchronization

/// Shows how much of a file is transferred, in one line of a terminal, for a transfer longer than a second.
public final class TransferMeter: Sendable {
    private struct State {
        var start: Double?
        var percent: Int64?
    }

    private let tool: String
    private let isShown: Bool
    private let state = Mutex(State())

    /// Creates a meter of `tool` that shows nothing with `quiet`, and if stderr is not a terminal.
    public init(tool: String, quiet: Bool) {
        self.tool = tool
        isShown = !quiet && Terminal.isTerminal(2)
    }

    /// Shows that `have` of `size` bytes are transferred.
    public func note(_ have: Int64, of size: Int64) {
        guard isShown else { return }
        let now = Monotonic.seconds()
        state.withLock { state in
            let start = state.start ?? now
            state.start = start
            let percent = have * 100 / max(1, size)
            guard now - start > 1, percent != state.percent else { return }
            state.percent = percent
            Self.put("\r\u{1B}[K\(tool): \(percent) % of \(size >> 10) KiB")
        }
    }

    /// Removes the line.
    public func clear() {
        state.withLock { state in
            if state.percent != nil { Self.put("\r\u{1B}[K") }
            state = State()
        }
    }

    private static func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(2, bytes, bytes.count)
    }
}
