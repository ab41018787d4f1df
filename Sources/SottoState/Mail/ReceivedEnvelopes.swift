import SottoBytes
import SottoDatabase

/// The envelopes that the identities of a home received and did not open yet. `send` has no identity, and only looks up ids: such
/// an envelope is incoming mail.
public final class ReceivedEnvelopes: Sendable {
    private let files: [DurableDatabase]

    /// Opens the states in `directory`. One that cannot be read is left out.
    public init(in directory: StateDirectory, lockTimeout: Double) {
        let names = directoryNames(directory.path).names.filter {
            $0.hasPrefix("05") && $0.hasSuffix(".db")
        }
        files = names.compactMap { name in
            try? DurableDatabase(
                path: directory.file(name), kind: IdentityStore.fileKind,
                migrations: IdentityStore.migrations, lockTimeout: lockTimeout, erases: true,
                migrates: false)
        }
    }

    /// Returns whether the envelope with an id was received and not opened yet.
    public func contains(_ id: String) -> Bool {
        files.contains { file in
            let isHere = try? file.use { (connection: StateConnection) throws(StateError) in
                try connection.exists(
                    "SELECT 1 FROM inbox WHERE id = ? AND envelope IS NOT NULL", id)
            }
            return isHere == true
        }
    }
}
