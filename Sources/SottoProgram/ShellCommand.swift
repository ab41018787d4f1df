import Glibc
package import SottoBytes

/// The command of `--exec`, which `/bin/sh` runs for each record.
package struct ShellCommand {
    private let command: String
    private let tool: String

    /// Creates a command. `tool` is the name in messages.
    package init(_ command: String, tool: String) {
        self.command = command
        self.tool = tool
    }

    /// Runs the command with a record and a line feed on its stdin. Returns whether its exit status is 0.
    ///
    /// A command may exit without reading all input.
    package func run(_ record: [UInt8]) throws(Failure) -> Bool {
        let input = try PipeEnds()
        var start = ProgramStart(.path("/bin/sh"), ["sh", "-c", command])
        start.descriptors = [(0, .descriptor(input.reading))]
        // The command must not inherit the connection.
        start.closesOthers = true
        // The command gets the default action of SIGPIPE, as in a shell.
        start.defaultSignals = [SIGPIPE]
        let child: pid_t
        do throws(ProgramStart.NotStarted) {
            child = try start.start()
        } catch {
            throw Failure(errno: error.code, "run", "/bin/sh")
        }
        input.closeReading()
        _ = writeAll(record + [UInt8(ascii: "\n")], to: input.writing)
        input.closeWriting()
        let end = ProgramEnd(of: child)
        switch end {
        case .exited(0): break
        case .exited(let status):
            Terminal.say("\(tool): error: the command exited with \(status)")
        case .killed: Terminal.say("\(tool): error: the command was killed by a signal")
        }
        return end == .exited(0)
    }
}
