package import Sotto

/// A request of ``ChatState`` to the loop.
package enum ChatEffect: Sendable {
    /// Start a pipeline. The stages whose arguments name `ToolRun.secretSource` read the passphrase there.
    case start(Pipeline, passphrase: TypedPassphrase?)
    /// Write bytes to the standard input of a pipeline. Those that it does not take are kept, at most 1 MiB; a pipeline that
    /// has ended takes nothing.
    case write(Pipeline.ID, [UInt8])
    /// Close the standard input of a pipeline when all bytes are written.
    case closeInput(Pipeline.ID)
    /// End all stages of a pipeline with SIGTERM. ``ChatEvent/ended(_:statuses:)`` follows.
    case stop(Pipeline.ID)
    /// Give ``ChatEvent/ticked(_:)`` at this time at the latest. It replaces the time that was asked for before.
    case wake(at: Timestamp)
    /// Ring the bell of the terminal.
    case ring
    /// Run the command of --notify with a conversation's name and the number of its unread messages.
    case notify(name: String, count: Int)
    /// Run `keygen unlock` with this passphrase, which the tool reads from a descriptor. ``ChatEvent/unlocked(status:message:)``
    /// follows.
    case unlock(TypedPassphrase)
    /// Read the names in a folder. ``ChatEvent/listed(folder:names:)`` follows. `~/` at the beginning is the home directory, and an
    /// empty text is the current folder.
    case list(folder: String)
    /// Put a text into the clipboard of the terminal (OSC 52).
    case copy(String)
    /// Print a line on standard output, without a screen. It has no control characters.
    case print(String)
    /// Print a line on standard error; with a screen, after the terminal is restored.
    case warn(String)
    /// Paint the whole screen again.
    case repaint
    /// Restore the terminal and stop the program with SIGTSTP.
    case suspend
    /// End the program with this exit status, after the running pipelines were stopped. The state has waited for those that
    /// must not be stopped.
    case end(Int32)
}
