import Glibc
import Sotto
import SottoState
import SottoTool

/// The uploads of files with changes and cards of groups: each file once in a run, to the owner's relay.
final class GroupFileUploads {
    private let folder: BlobFolder
    private let relay: String
    private let owner: KeyID
    private var known: [[UInt8]: BlobRecord] = [:]
    /// The files whose blobs are not named for `send` yet.
    private var unnamed: [BlobRecord] = []

    /// Creates the uploads of an owner to the relay with this address, from a folder with the files.
    init(_ folder: BlobFolder, to relay: String, of owner: KeyID) {
        (self.folder, self.relay, self.owner) = (folder, relay, owner)
    }

    /// Sets the place of a file. Returns its blob, and whether the blob is new in this run.
    ///
    /// Throws a failure with status 66 if the folder does not have the file any more.
    func place(_ file: inout GroupFile) throws(Failure) -> (blob: BlobRecord, isNew: Bool) {
        let digest = file.pointer.digest
        if let blob = known[digest] {
            file.pointer.place = .init(relay: relay, id: blob.id)
            return (blob, false)
        }
        guard access(folder.composed(digest), R_OK) == 0 else {
            throw Failure(
                .noInput, "the file with the changes of the group is not here any more",
                hint: "print the records again: sotto group sync | sotto encrypt | sotto send")
        }
        let blob = BlobRecord(
            id: randomBytes(32), to: owner, size: file.pointer.size, digest: digest, relay: relay)
        known[digest] = blob
        unnamed.append(blob)
        file.pointer.place = .init(relay: relay, id: blob.id)
        return (blob, true)
    }

    /// Names the blobs of new files for `send`. Call it before their records are printed.
    func finish() throws {
        for blob in unnamed { try folder.name(composed: blob.digest, [blob.id]) }
        unnamed = []
    }
}
