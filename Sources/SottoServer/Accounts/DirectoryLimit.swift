import Sotto
import Synchronization

/// Limits the space of what people publish: accounts with cards and login keys, records of rooms, prekeys, and where
/// they want their wake-ups.
///
/// The space is counted from the store at the start and then every minute. In between publications are added to it; one
/// that is stored while a count runs may count twice until the next count. While the space is below half of the limit,
/// each publication is added whole, without a look at the store. Above, the relay reads what the publication replaces,
/// new ids must do a proof of work, and only the growth is added.
final class DirectoryLimit: Sendable {
    /// The space of a row in addition to its record; for a card with the rows of its account names.
    static let rowBytes: Int64 = 512
    /// The space of an owner's signed prekeys.
    static let ownerBytes: Int64 = 4096
    /// The space of a one-time prekey.
    static let oneTimeBytes: Int64 = 64

    private struct State {
        var space: Int64 = 0
        /// The space that was added since the last count began; `nil` before the first one.
        var added: Int64?
        var isCounting = false
    }

    private let limit: Int64
    private let state = Mutex(State())

    /// Limits the space to a number of bytes.
    init(_ limit: Int64) { self.limit = limit }

    /// Whether more than half of the space is used.
    var isTight: Bool { state.withLock { $0.space > limit / 2 } }

    /// Returns whether `growth` more bytes are within the limit, and adds them if so.
    func admit(_ growth: Int64) -> Bool {
        state.withLock { state in
            guard growth <= 0 || state.space <= limit - growth else { return false }
            add(max(0, growth), to: &state)
            return true
        }
    }

    /// Adds bytes, in excess of the limit too.
    func add(_ bytes: Int64) { state.withLock { add(bytes, to: &$0) } }

    private func add(_ bytes: Int64, to state: inout State) {
        state.space += bytes
        state.added? += bytes
    }

    /// Begins a count, unless nothing was added since the last one. What was added before must be stored before the store is
    /// read. A publication that was added and not yet submitted is left out until the next publication makes a count due.
    @discardableResult
    func beginCount() -> Bool {
        state.withLock { state in
            guard state.added != 0, !state.isCounting else { return false }
            (state.added, state.isCounting) = (0, true)
            return true
        }
    }

    /// Ends a count with the space in the store, or without a result.
    func endCount(_ space: Int64?) {
        state.withLock { state in
            state.isCounting = false
            guard let space else { return state.added = nil }
            state.space = space + (state.added ?? 0)
        }
    }
}

extension Change {
    /// The space that the change adds to the directory, at most; 0 for a change that publishes nothing.
    var directoryBytes: Int64 {
        switch self {
        case .publish(let publication, _):
            DirectoryLimit.ownerBytes
                + Int64(publication.oneTimePreKeys.count) * DirectoryLimit.oneTimeBytes
        case .update(_, .card(let bytes, _, _)), .update(_, .loginKey(let bytes, _)):
            DirectoryLimit.rowBytes + Int64(bytes.count)
        case .update(_, .revocation(let bytes)):
            DirectoryLimit.rowBytes + DirectoryLimit.ownerBytes + Int64(bytes.count)
        case .publishRoom(let room): DirectoryLimit.rowBytes + Int64(room.bytes.count)
        case .registerWake(let wake): DirectoryLimit.rowBytes + Int64(wake.bytes)
        case .store, .acknowledge, .claim, .claims, .update, .invite, .revoke, .redeem, .meeting,
            .unregisterWake, .noteInstance:
            0
        }
    }

    /// The number of publications that the change counts as in a surge: a large record counts as several.
    var surgeWeight: Int {
        if case .publish = self { 1 } else { max(1, Int(directoryBytes / 4096)) }
    }
}
