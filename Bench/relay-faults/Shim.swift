import Glibc
import RelayHarness

/// The library that stands between a relay and the system, `shim/fault_shim.c`; that says what it does.
struct Shim: Sendable {
    private let directory = Scratch()

    /// The one of this process; `nil` if there is no compiler for it.
    static let shared = Shim()

    private init?() {
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let source = folder.joined(separator: "/") + "/shim/fault_shim.c"
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let compile =
            "$(command -v clang || command -v cc) -shared -fPIC -O2 -Wall -o \"$0\" \"$1\""
        guard
            Command.run(
                "/bin/sh", ["-c", compile, library, source], environment: ["PATH": path]) == 0
        else { return nil }
    }

    private var library: String { directory.file("faultshim.so") }

    /// The environment of a relay that has this fault.
    func environment(_ settings: [String: String]) -> [String: String] {
        settings.merging(["LD_PRELOAD": library]) { $1 }
    }
}
