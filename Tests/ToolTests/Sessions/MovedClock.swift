import TestSupport
import Testing

/// A wall clock for dynamically linked programs, which a test moves. `fault_shim.c` of `relay-faults` is preloaded.
struct MovedClock: Sendable {
    private let directory = TemporaryDirectory()

    init() throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        let source = root.joined(separator: "/") + "/Bench/relay-faults/shim/fault_shim.c"
        _ = try Compiler.library(library, source)
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
