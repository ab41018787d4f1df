import CSodium
import Glibc

/// The initialization of libsodium.
package enum Sodium {
    private static let ready: Void = {
        guard sodium_init() >= 0 else {
            // libsodium cannot work without a source of randomness.
            abort()
        }
    }()

    /// Initializes libsodium once. Every use of libsodium comes after this call.
    package static func start() { _ = ready }
}
