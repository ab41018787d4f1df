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
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure(errno: errno, "run", "the command") }
        // No other command runs at the same time, but this one must not inherit the write end of its own stdin or the
        // connection.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        for descriptor: Int32 in 3..<256 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // The command gets the default action of SIGPIPE, as in a shell.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))

        let words: [UnsafeMutablePointer<CChar>?] = [
            strdup("sh"), strdup("-c"), strdup(command), nil,
        ]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, "/bin/sh", &actions, &attributes, words, environ)
        close(ends[0])
        guard code == 0 else {
            close(ends[1])
            throw Failure(errno: code, "run", "/bin/sh")
        }
        Self.write(record + [UInt8(ascii: "\n")], to: ends[1])
        close(ends[1])
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let isDone = status == 0
        if !isDone {
            let end =
                status & 0x7F == 0 ? "exited with \(status >> 8 & 0xFF)" : "was killed by a signal"
            Terminal.say("\(tool): error: the command \(end)")
        }
        return isDone
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
