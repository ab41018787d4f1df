package import Sotto

/// An event outside of ``ChatState``.
package enum ChatEvent: Sendable {
    /// A key of the terminal.
    case key(Key)
    /// A text that was pasted into the terminal.
    case paste(String)
    /// A text that was typed or pasted while ``ChatState/takesPassphrase`` was true. The state wipes it.
    case typed(TypedPassphrase)
    /// The terminal has another size.
    case resized(columns: Int, rows: Int)
    /// The time of the system clock, and of the monotonic clock in milliseconds. The loop gives them before each batch of events, and
    /// at the time of ``ChatEffect/wake(at:)``.
    case ticked(Timestamp, uptime: Int64)
    /// The terminal has taken all bytes of a screen that shows this.
    case shown(Screen.Shown)
    /// A line that was typed without a screen, or that came from a pipe; without its line feed.
    case entered(String)
    /// Standard input has ended, without a screen.
    case inputEnded
    /// One line of the standard output of a pipeline, without its line feed. A line of more than 1 MiB arrives with its first
    /// 1 MiB.
    case printed(Pipeline.ID, line: [UInt8])
    /// One line of ``Pipeline/confirmingStage``, as in ``printed(_:line:)``.
    case confirmed(Pipeline.ID, line: [UInt8])
    /// One line of standard error of a stage; at most 4 KiB.
    case said(Pipeline.ID, stage: Int, line: String)
    /// All stages of a pipeline have ended; no event with its id follows. The statuses are those of a shell: 128 and the
    /// number of a signal.
    case ended(Pipeline.ID, statuses: [Int32])
    /// The names in a folder that ``ChatEffect/list(folder:)`` asked for, at most 1,000; folders end with a slash.
    case listed(folder: String, names: [String])
    /// The end of ``ChatEffect/unlock(_:)``: the status of `keygen unlock` and its first line of standard error.
    case unlocked(status: Int32, message: String)
    /// Another window of this identity locks it at its end, unless this window is open then.
    case otherWindowLocks
    /// The command of --notify failed. The loop tells it once.
    case notificationFailed(String)
    /// A signal asks the program to end: the number. The state ends when what was typed is sent or in the outbox; the loop does not
    /// wait longer than some seconds for this.
    case interrupted(Int32)
}
