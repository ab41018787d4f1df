import Glibc
import Sotto
public import SottoState
import SottoWire

/// Fetches the files with changes and cards that members of groups offer, from relays that the owner, a contact or the
/// policy of the group names.
///
/// A file that cannot be fetched now is tried again in the next run.
public struct GroupFileFetch {
    private let store: IdentityStore
    private let authorities: String?
    private let folder: BlobFolder

    /// Creates a fetch for the groups in `store`, into the folder of its files. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``.
    public init(_ store: IdentityStore, authorities: String?, into folder: BlobFolder) {
        (self.store, self.authorities, self.folder) = (store, authorities, folder)
    }

    /// Fetches all files. Waits at most `timeout` seconds for a relay that does not answer, once in a run.
    public func run(timeout: Double) throws {
        var silent: Set<String> = []
        for (file, relays) in try store.preview({ try $0.wantedFiles() }) {
            guard let place = file.pointer.place, let noted = place.relay,
                let known = relays.first(where: { unpinnedRelay($0) == unpinnedRelay(noted) }),
                let relay = try? RelayAddress.read(known, authorities: authorities)
            else { continue }
            guard !silent.contains(known) else { continue }
            let download = BlobDownload(file.pointer, id: place.id, into: folder)
            do throws(ClientError) {
                try download.run(at: relay, timeout: timeout)
            } catch {
                switch error {
                case .noBlob, .forgedBlob:
                    try store.transaction { try $0.giveUp(file) }
                    unlink(download.path)
                default: silent.insert(known)
                }
            }
        }
    }
}
