import Glibc
import Sotto
import SottoDatabase
public import SottoState
import SottoWire

/// Fetches the files with changes and cards that members of groups offer, from relays that the owner, a contact or the
/// policy of the group names.
///
/// A file that cannot be fetched now is tried again in the next run.
public struct GroupFileFetch: Sendable {
    private let store: IdentityStore
    private let authorities: String?
    private let folder: BlobFolder

    /// Creates a fetch for the groups in `store`, into the folder of its files. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``.
    public init(_ store: IdentityStore, authorities: String?, into folder: BlobFolder) {
        (self.store, self.authorities, self.folder) = (store, authorities, folder)
    }

    /// The files of one relay, the oldest first.
    private struct Shelf: Sendable {
        let relay: RelayURL
        var files: [OfferedGroupFile]
    }

    /// Fetches all files, from several relays at once, each file at a pace. The files of a relay that does not keep the pace
    /// wait for the next run.
    public func run(_ pace: TransferPace) throws {
        try concurrently(try shelves()) { shelf in
            let end = Monotonic.seconds() + pace.total
            for file in shelf.files {
                guard Monotonic.seconds() < end, try fetch(file, from: shelf.relay, pace) else {
                    return
                }
            }
        }
    }

    private func shelves() throws -> [Shelf] {
        var shelves: [String: Shelf] = [:]
        for (file, addresses) in try store.preview({ try $0.wantedFiles() }) {
            guard let noted = file.pointer.place?.relay, let asked = read(noted),
                let relay = asked.known(among: addresses.compactMap(read))
            else { continue }
            shelves[relay.text, default: Shelf(relay: relay, files: [])].files.append(file)
        }
        return Array(shelves.values)
    }

    private func read(_ address: String) -> RelayURL? {
        try? RelayAddress.read(address, authorities: authorities)
    }

    /// Fetches a file, or gives it up if the relay does not have it. Returns whether the relay answered in time.
    private func fetch(
        _ file: OfferedGroupFile, from relay: RelayURL, _ pace: TransferPace
    ) throws -> Bool {
        guard let place = file.pointer.place, let path = folder.incoming(file) else { return true }
        let download = BlobDownload(file.pointer, id: place.id, to: path)
        do throws(ClientError) {
            try download.run(at: relay, pace)
            return true
        } catch {
            switch error {
            case .noBlob, .forgedBlob:
                try store.transaction { try $0.giveUp(file) }
                unlink(download.path)
                return true
            case .state(.database(.locked)): return true
            case .state(let error): throw error
            default: return false
            }
        }
    }
}
