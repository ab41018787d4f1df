import Glibc
import SottoBytes
import SottoProgram
import TestSupport
import Testing

/// Runs of other tools, as `contact introduce`, `group` and `sotto init` start them.
@Suite struct ToolRunTests {
    init() { ignoreBrokenPipes() }

    /// More than the capacity of a pipe goes in both directions.
    @Test func longInputAndOutput() throws {
        let input = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        let padded = try ToolRun("pad", [], input: input).output()
        #expect(padded.count > input.count)
        #expect(try ToolRun("pad", ["--remove"], input: padded).output() == input)
    }

    /// A tool can end before it has read its input.
    @Test func inputThatIsNotRead() throws {
        let input = [UInt8](repeating: 0, count: 1_000_000)
        let result = try ToolRun("pad", ["--version"], input: input).run()
        #expect(result.status == 0 && !result.output.isEmpty && result.messages.isEmpty)
    }

    @Test func statusAndMessages() throws {
        var run = ToolRun("pad", ["--no-such-option"])
        run.collectsMessages = true
        let result = try run.run()
        #expect(result.status == 64 && result.output.isEmpty && !result.messages.isEmpty)
        let failure = #expect(throws: Failure.self) { try run.output() }
        #expect(failure?.status == .usage && failure?.message == "")
    }

    @Test func aSignalIsReported() {
        let killed = Failure.ended(128 + SIGKILL, "pad")
        #expect(killed.status == .ioError && killed.message == "pad was ended by signal 9")
        #expect(Failure.ended(128 + SIGPIPE, "pad").status == .closedPipe)
    }

    @Test func aMissingToolIsReported() {
        let failure = #expect(throws: Failure.self) { try ToolRun("no-such-tool", []).output() }
        #expect(failure?.status == .configuration)
    }
}
