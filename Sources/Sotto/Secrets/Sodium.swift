import CSodium
import Glibc

/// libsodium, made ready once.
enum Sodium {
    private static let ready: Void = {
        guard sodium_init() >= 0 else {
            // Without a source of randomness nothing here can go on.
            abort()
        }
    }()

    /// Makes libsodium ready; every use of it comes after this. Cheap when repeated.
    static func start() { _ = ready }
}
