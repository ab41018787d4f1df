import Glibc

/// A variable of the test run's environment; `nil` where it is unset or empty.
package func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
