import Dispatch
import Synchronization

/// Runs `body` for each of `parts`, several at once, so that a part that takes long does not delay the others. Returns when all
/// are done. Throws the first error; the other parts are done all the same.
func concurrently<Part: Sendable>(
    _ parts: [Part], limit: Int = 8, _ body: @escaping @Sendable (Part) throws -> Void
) throws {
    let rest = Mutex(parts[...])
    let failure = Mutex<(any Error)?>(nil)
    let group = DispatchGroup()
    for number in 0..<min(limit, parts.count) {
        DispatchQueue(label: "concurrently.\(number)").async(group: group) {
            while let part = rest.withLock({ $0.popFirst() }) {
                do {
                    try body(part)
                } catch {
                    failure.withLock { $0 = $0 ?? error }
                }
            }
        }
    }
    group.wait()
    if let error = failure.withLock({ $0 }) { throw error }
}
