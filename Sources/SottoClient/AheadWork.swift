import Dispatch
import Synchronization

/// The work of `recv` at the relays of other people: claims of bundles, fetches of files of groups, and questions about
/// revocations. It runs on threads of its own, so that no relay of another person delays the reading of a mailbox.
public final class AheadWork: Sendable {
    private struct State {
        var isRunning = false
        var error: (any Error)?
    }

    /// Seconds for the claims, in parallel with the reading and after it.
    private static let claimSeconds = (parallel: 600.0, last: 5.0)

    private let stock: BundleStock?
    private let files: GroupFileFetch
    private let news: NewsFetch
    private let state = Mutex(State())
    private let threads = DispatchGroup()

    /// Creates the work; without `stock` no bundles are claimed.
    public init(_ stock: BundleStock?, _ files: GroupFileFetch, _ news: NewsFetch) {
        (self.stock, self.files, self.news) = (stock, files, news)
    }

    /// The first error of the state. An error of a relay is none: its work is done in a later run.
    public var error: (any Error)? { state.withLock { $0.error } }

    /// Begins the work, unless it is running, and returns at once.
    public func begin() { begin(.parallel, Self.claimSeconds.parallel) }

    /// Does the work after the last envelope. Returns within about 20 seconds.
    public func finish() {
        begin(.last, Self.claimSeconds.last)
        _ = threads.wait(timeout: .now() + TransferPace.last.total + 5)
    }

    private func begin(_ pace: TransferPace, _ claimSeconds: Double) {
        let begins = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        DispatchQueue(label: "recv.ahead").async(group: threads) { [self] in
            let parts: [@Sendable () throws -> Void] = [
                { [stock] in _ = try stock?.fill(within: claimSeconds) },
                { [files] in try files.run(pace) },
                { [news] in try news.run(within: claimSeconds) },
            ]
            let result = Result { try concurrently(parts) { try $0() } }
            state.withLock { state in
                state.isRunning = false
                if case .failure(let error) = result { state.error = state.error ?? error }
            }
        }
    }
}
