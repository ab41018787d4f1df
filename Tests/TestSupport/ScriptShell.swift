import Glibc
import SottoProgram

/// A shell that keeps its variables, its directory and its background jobs from one line to the next.
final class ScriptShell {
    private let process: pid_t
    private let lines: Int32
    private let endings: Int32
    private let streams = TemporaryDirectory()

    init(in directory: String, environment: [String: String]) throws {
        let (lines, endings) = (try makePipe(), try makePipe())
        defer { for end in [lines.read, endings.write] { close(end) } }
        (self.lines, self.endings) = (lines.write, endings.read)
        let shell = Command(
            path: Peer.bash.path, ["--norc", "--noprofile", "-u", "-o", "pipefail"],
            environment: environment, directory: directory)
        process = try shell.spawn(
            [
                (0, .descriptor(lines.read)), (1, .file("/dev/null", O_WRONLY)),
                (2, .file("/dev/null", O_WRONLY)), (3, .descriptor(endings.write)),
            ], newSession: true)
    }

    /// Ends the shell and its background jobs, which are in its process group.
    deinit {
        kill(-process, SIGKILL)
        waitpid(process, nil, 0)
        for end in [lines, endings] { close(end) }
    }

    /// Runs a line, and returns its exit status and its output.
    func run(_ line: String) throws -> Run {
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "'\\''")
        // A background job of an earlier line appends too.
        let (out, err) = (streams("stdout"), streams("stderr"))
        let bytes = Array(
            """
            : >'\(out)' >'\(err)'
            eval '\(quoted)' </dev/null >>'\(out)' 2>>'\(err)' 3>&-
            echo $? >&3

            """.utf8)
        guard write(lines, bytes, bytes.count) == bytes.count else { throw SystemError("write") }
        return Run(
            status: try ending(), stdout: try streams.read("stdout"),
            stderr: String(decoding: try streams.read("stderr"), as: UTF8.self))
    }

    /// Reads an exit status. Throws if the line ended the shell.
    private func ending() throws -> Int32 {
        var digits: [UInt8] = []
        var byte: UInt8 = 0
        while byte != 0x0A {
            var item = pollfd(fd: endings, events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, 180_000) == 1 else { throw Pipeline.Timeout() }
            guard read(endings, &byte, 1) == 1 else {
                throw SystemError("the shell ended", code: 0)
            }
            if byte != 0x0A { digits.append(byte) }
        }
        return Int32(String(decoding: digits, as: UTF8.self)) ?? -1
    }
}
