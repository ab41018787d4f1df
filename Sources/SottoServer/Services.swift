import Dispatch
import NIOCore
import NIOPosix
import SottoDatabase
import SottoWire

/// The services that all connections of a relay share.
struct Services: Sendable {
    let store: any Store
    let writer: Writer
    let reader = DispatchQueue(label: "relay.reader")
    /// The threads that verify signatures and parse long frames: half of the processors; the others are for the event
    /// loops.
    let verification: NIOThreadPool
    let subscribers = SubscriberRegistry()
    let signals: Signals
    let names: RelayNames
    let origins: WebOrigins
    let policy: RelayPolicy
    /// The blobs, or `nil` without blobs in the store or with a limit of 0.
    let blobs: (any BlobStore)?
    /// The threads that read and write blobs.
    let blobThreads: NIOThreadPool
    let onFailure: @Sendable (StoreError) -> Void

    /// They wait for the disk most of the time.
    private static let blobThreadCount = 4

    /// Creates the services of a relay. `onFailure` is called, possibly several times, if the store fails.
    init(
        _ configuration: RelayConfiguration, store: any Store,
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws(StoreError) {
        self.store = store
        self.onFailure = onFailure
        let clock = RelayClock(try store.clock(), wall: configuration.wall)
        policy = RelayPolicy(configuration, clock)
        policy.directory.beginCount()
        policy.directory.endCount(try store.directoryUse())
        names = RelayNames(
            configuration.names
                + (configuration.listen.port == 0 ? [] : [configuration.listen.name]))
        origins = WebOrigins(allowed: configuration.allowedOrigins)
        signals = Signals(subscribers, store)
        writer = Writer(
            store: store, subscribers: subscribers, clock: clock, counters: policy.counters,
            admission: policy.admission, rates: policy.rates, onNotice: configuration.onNotice,
            onFailure: onFailure)
        let limits = configuration.blobs
        blobs = limits.total > 0 ? try store.openBlobs(limits) : nil
        blobThreads = NIOThreadPool(numberOfThreads: Self.blobThreadCount)
        blobThreads.start()
        verification = NIOThreadPool(numberOfThreads: max(1, System.coreCount / 2))
        verification.start()
    }
}

extension Services {
    /// Counts the space of the directory again, on the thread of the reader, after the changes that wait now are on disk.
    func countDirectory() {
        guard policy.directory.beginCount() else { return }
        writer.afterSubmitted { [self] in reader.async { countSpace() } }
    }

    private func countSpace() {
        do throws(StoreError) {
            policy.directory.endCount(try store.directoryUse())
        } catch {
            // The next count tries again.
            policy.directory.endCount(nil)
            if case .full = error { return }
            onFailure(error)
        }
    }
}
