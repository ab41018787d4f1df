import Glibc

/// Returns a variable of the test run's environment, or `nil` if it is unset or empty.
package func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
