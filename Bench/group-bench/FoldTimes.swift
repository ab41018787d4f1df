import Glibc
import Sotto
import SottoState

/// The times of the work on a log.
struct FoldTimes {
    private let store: IdentityStore

    init(_ store: IdentityStore) { self.store = store }

    /// Prints the milliseconds of reading a group from the state with its fold, of verifying all changes, of adding them to a log,
    /// and of the fold alone.
    func print(_ name: String) throws {
        guard
            let id = try store.preview({ try $0.groupHeaders() }).first(where: { $0.name == name })?
                .id
        else { exit(66) }
        var found: StoredGroup?
        let read = try median { found = try store.preview { try $0.group(id) } }
        guard let group = found else { exit(66) }
        let changes = group.log.changes
        let verify = try seconds {
            for change in changes { _ = try GroupChange(JSON.object(parsing: change.bytes)) }
        }
        let add = median {
            var log = GroupLog(changes[0])
            for change in changes.dropFirst() { _ = log?.add(change) }
        }
        var state = group.state
        let fold = median { state = group.log.fold() }
        let digest = median { _ = state.digest }
        func milliseconds(_ value: Double) -> JSON { .integer(Int64((value * 1000).rounded())) }
        show([
            ("changes", .integer(Int64(changes.count))),
            ("bytes", .integer(Int64(group.log.byteCount))), ("read", milliseconds(read)),
            ("verify", milliseconds(verify)), ("add", milliseconds(add)),
            ("fold", milliseconds(fold)), ("digest", milliseconds(digest)),
        ])
    }
}
