import NIOPosix
import Sotto
import SottoWire

/// A request about a blob, which reads or writes the disk. It runs on the threads for blobs, and the connection pauses
/// until its response is there.
enum BlobWork: Sendable {
    case put(BlobPiece)
    case state(id: [UInt8])
    case read(id: [UInt8], offset: Int64, count: Int)
    case delete(id: [UInt8], key: [UInt8])

    /// Does the work. An error of one blob is its response; an error of the store is thrown.
    func response(_ services: Services) throws(StoreError) -> Response {
        do throws(BlobStoreError) {
            return try run(services)
        } catch {
            switch error {
            case .unavailable:
                services.policy.counters.add(.failedBlobs)
                return .deferred(Refusal(.busy))
            case .store(.full): return .deferred(Refusal(.diskFull))
            case .store(let error): throw error
            }
        }
    }

    private func run(_ services: Services) throws(BlobStoreError) -> Response {
        guard let blobs = services.blobs else { return .error(Refusal(.unknownType)) }
        let clock = services.policy.clock
        let counters = services.policy.counters
        switch self {
        case .put(let piece):
            let lifetime = try services.blobLifetime(of: piece.to)
            switch try blobs.put(piece, lifetime: lifetime, at: clock.minute) {
            case .state(let state):
                counters.add(.blobBytesIn, piece.bytes.count)
                if state.isComplete, piece.offset + Int64(piece.bytes.count) == piece.size {
                    counters.add(.blobs)
                }
                return .blob(state)
            case .conflict: return .rejected(Refusal(.conflict))
            case .busy: return .deferred(Refusal(.busy))
            case .badDigest: return .error(Refusal(.badDigest))
            case .mailboxFull: return .deferred(Refusal(.mailboxFull))
            case .full: return .deferred(Refusal(.diskFull))
            }
        case .state(let id):
            return .blob(
                try blobs.state(of: id, at: clock.expiry) ?? BlobState(size: 0, have: 0))
        case .read(let id, let offset, let count):
            guard
                let bytes = try blobs.read(id, offset: offset, count: count, at: clock.expiry)
            else { return .error(Refusal(.noBlob)) }
            counters.add(.blobBytesOut, bytes.count)
            return .blobData(bytes)
        case .delete(let id, let key):
            try blobs.delete(id, key: key)
            return .accepted
        }
    }
}

extension Services {
    /// Deletes expired blobs, on a thread for blobs.
    func sweepBlobs() {
        guard let blobs else { return }
        let (clock, limits, onFailure) = (policy.clock, policy.blobLimits, onFailure)
        blobThreads.submit { state in
            guard state == .active else { return }
            do throws(BlobStoreError) {
                try blobs.sweep(at: clock.expiry, latest: clock.minute + limits.minutes)
            } catch .store(let error) {
                // The next sweep tries again on a full disk.
                if case .full = error { return }
                onFailure(error)
            } catch {}
        }
    }

    /// Returns the minutes for which a mailbox's blobs are stored. A relay for members keeps those of strangers as long
    /// as their mail.
    fileprivate func blobLifetime(of mailbox: KeyID) throws(BlobStoreError) -> Int64 {
        guard !policy.admission.isOpen else { return policy.blobLimits.minutes }
        do throws(StoreError) {
            let isStranger = try store.account(of: mailbox) == nil
            return isStranger ? Retention.strangerMinutes : policy.blobLimits.minutes
        } catch {
            throw .store(error)
        }
    }
}
