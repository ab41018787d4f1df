import Glibc
import TestSupport
import Testing

/// The errors that keep a relay from starting.
@Suite struct StartTests {
    let scratch = TemporaryDirectory()

    /// Runs a relay that must not start.
    func run(_ arguments: [String]) -> (status: Int32, errors: String) {
        let status = ChildProcess.run(
            "relay", ["--listen", "127.0.0.1:0"] + arguments, errors: scratch("errors"))
        defer { unlink(scratch("errors")) }
        return (
            status, String(decoding: TemporaryDirectory.contents(scratch("errors")), as: UTF8.self)
        )
    }

    @Test func aStoreMustBeARegularFile() {
        for (path, what) in [
            (scratch.path, "is a directory"), ("/dev/null", "is not a regular file"),
        ] {
            let (status, errors) = run(["--store", path])
            #expect(status == 73 && errors.contains("cannot open the store \(path): \(what)"))
        }
        let missing = run(["--store", scratch("missing/relay.db")])
        #expect(missing.status == 73 && missing.errors.contains("no such file"))
    }

    @Test func aStoreThatCannotBeOpened() {
        // No user, not even root, can write to a running program.
        let (status, errors) = run(["--store", "/proc/\(getpid())/exe"])
        #expect(status == 73 && errors.contains(": text file busy"), "\(errors)")
    }

    @Test func aStoreInUseIsReported() throws {
        let relay = try #require(RelayProcess(scratch))
        let (status, errors) = run(["--store", scratch("relay.db")])
        #expect(status == 75 && errors.contains("is in use"), "\(errors)")
        #expect(!errors.contains("--lock-timeout"))
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    @Test func theReadyFileMustNotBeTheStore() throws {
        let path = scratch.write("relay.db", [])
        let (status, errors) = run(["--store", path, "--ready-file", path])
        #expect(status == 64 && errors.contains("is also an input file"))
        #expect(TemporaryDirectory.contents(path).isEmpty)
    }

    @Test func numbersOutOfRange() {
        let store = ["--store", scratch("relay.db")]
        for arguments in [
            ["--ttl", "-1"], ["--ttl", "0"], ["--ttl", "9223372036854775807"], ["--ttl", "30"],
            ["--ttl", "36h"], ["--blob-ttl", "7"], ["--blob-ttl", "0d"],
            ["--blob-ttl", "1000001d"],
            ["--mailbox-messages", "-1"], ["--max-connections", "-1"],
        ] {
            let (status, errors) = run(store + arguments)
            #expect(status == 64 && errors.contains("\(arguments[0])"), "\(errors)")
            #expect(!errors.contains("missing value"))
        }
    }
}
