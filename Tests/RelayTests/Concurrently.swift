import Dispatch
import Sotto
import Synchronization
import TestSupport

/// Runs two functions concurrently. Returns the errors that they threw.
func concurrently(
    _ one: @Sendable () throws -> Void, _ other: @Sendable () throws -> Void
) throws -> [String] {
    let errors = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { number in
        do {
            if number == 0 { try one() } else { try other() }
        } catch {
            errors.withLock { $0.append("\(error)") }
        }
    }
    return errors.withLock { $0 }
}

extension Sample {
    /// Returns an id without an identity.
    static func identityID() -> KeyID {
        KeyID(publicKey: SigningKey(seed: SecretBytes(randomCount: 32)).publicKey)
    }
}
