import TestSupport
import Testing

/// A wall clock for dynamically linked programs, which a test moves. `fault_shim.c` of `relay-faults` is preloaded.
struct MovedClock: Sendable {
    private let directory = TemporaryDirectory()

    init() throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        let source = root.joined(separator: "/") + "/Bench/relay-faults/shim/fault_shim.c"
        let compiler = try #require(Programs.find("clang") ?? Programs.find("cc"))
        let run = try Command(
            path: compiler, ["-shared", "-fPIC", "-O2", "-o", library, source],
            environment: ["PATH": "/usr/bin:/bin"], directory: directory.path
        ).run(stdin: .whole([]))
        try #require(run.status == 0, "\(run.stderr)")
        set(0)
    }

    private var library: String { directory("clock.so") }

    /// The environment of the programs.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "FAULT_CLOCK": directory("shift")]
    }

    /// Sets the number of seconds by which the clock is ahead.
    func set(_ seconds: Int) { directory.write("shift", Array("\(seconds)".utf8)) }
}
