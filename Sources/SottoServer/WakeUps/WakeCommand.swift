import Glibc
import NIOCore
import NIOPosix
import Sotto
import SottoProgram
import Synchronization

/// Runs a program for each wake-up, with the mailbox and the number of messages in its environment.
final class WakeCommand: WakeTarget {
    private let words: [String]
    private let timeout: TimeAmount
    private let loop: any EventLoop
    /// Threads that wait for the programs; Dispatch's threads are needed for the store.
    private let threads = NIOThreadPool(numberOfThreads: WakeUps.runningLimit)
    private let running = Mutex(Running())

    private struct Running {
        var children: Set<pid_t> = []
        var isStopped = false
    }

    /// Variables that only the relay itself may use.
    private static let privateVariables = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]

    /// Takes a program, which is searched in `PATH`, and its arguments.
    init(_ words: [String], timeout: TimeAmount, loop: any EventLoop) {
        self.words = words
        self.timeout = timeout
        self.loop = loop
        threads.start()
    }

    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool> {
        threads.runIfActive(eventLoop: loop) { self.run(wakeUp) }
    }

    func stop() {
        running.withLock { running in
            running.isStopped = true
            for child in running.children { kill(-child, SIGKILL) }
        }
        try? threads.syncShutdownGracefully()
    }

    /// Runs the program to its end. Returns whether it exited with 0.
    private func run(_ wakeUp: WakeUp) -> Bool {
        let started = running.withLock { running -> pid_t? in
            guard !running.isStopped, let child = spawn(wakeUp) else { return nil }
            running.children.insert(child)
            return child
        }
        guard let child = started else { return false }
        let limit = loop.scheduleTask(in: timeout) {
            // The process id stays valid until `waitpid`, which runs under the lock.
            self.running.withLock { running in
                if running.children.contains(child) { kill(-child, SIGKILL) }
            }
        }
        var info = siginfo_t()
        while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        limit.cancel()
        return running.withLock { running in
            running.children.remove(child)
            return ProgramEnd(of: child) == .exited(0)
        }
    }

    /// Starts the program in its own process group, so that a kill ends its children too.
    private func spawn(_ wakeUp: WakeUp) -> pid_t? {
        var start = ProgramStart(.name(words[0]), words)
        start.environment = Self.environment(wakeUp)
        start.descriptors = [
            (0, .file("/dev/null", O_RDONLY)), (1, .file("/dev/null", O_WRONLY)),
        ]
        // NIO's sockets would be inherited, and stay open after their clients are gone.
        start.closesOthers = true
        // A child would inherit the relay's ignored signals.
        start.defaultSignals = [SIGPIPE, SIGTERM, SIGINT]
        start.group = .separate
        return try? start.start()
    }

    /// The relay's environment, and the variables of this wake-up.
    private static func environment(_ wakeUp: WakeUp) -> [String] {
        let variables = environmentVariables().filter { variable in
            let name = String(variable.prefix { $0 != "=" })
            return !name.hasPrefix("SOTTO_") && !privateVariables.contains(name)
        }
        return variables + ["SOTTO_MAILBOX=\(wakeUp.mailbox)", "SOTTO_COUNT=\(wakeUp.count)"]
    }
}

extension WakePlan {
    /// Splits a command line into words, with a shell's quotes and backslashes but no other shell syntax. Returns
    /// `nil` if a quote is not closed, or without a word.
    public static func words(of line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                // Between double quotes a backslash escapes only these two characters.
                if quote != nil, character != "\"", character != "\\" { word? += "\\" }
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
                word = word ?? ""
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if quote == nil, character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words.first?.isEmpty == false ? words : nil
    }
}
