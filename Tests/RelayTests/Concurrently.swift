import Dispatch
import RelayHarness
import Sotto
import Synchronization

/// Runs two pieces of work at the same time; returns what they threw.
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
    /// An id that no identity was made for.
    static func identityID() -> SessionID {
        SessionID(publicKey: SigningKey(seed: SecretBytes(randomCount: 32)).publicKey)
    }
}
