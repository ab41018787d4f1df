import Glibc
import TestHarness

/// The library that is preloaded into a relay to cause faults, `shim/fault_shim.c`, which documents it.
struct Shim: Sendable {
    private let directory = TemporaryDirectory()

    /// The library of this process, or `nil` if it cannot be compiled.
    static let shared = Shim()

    private init?() {
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let source = folder.joined(separator: "/") + "/shim/fault_shim.c"
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let compile =
            "$(command -v clang || command -v cc) -shared -fPIC -O2 -Wall -o \"$0\" \"$1\""
        guard
            ChildProcess.run(
                "/bin/sh", ["-c", compile, library, source], environment: ["PATH": path]) == 0
        else { return nil }
    }

    private var library: String { directory("faultshim.so") }

    /// Returns the environment of a relay with these faults.
    func environment(_ settings: [String: String]) -> [String: String] {
        settings.merging(["LD_PRELOAD": library]) { $1 }
    }
}
