import Sotto
public import SottoState

/// The time that a store remembers, for an operator.
public enum StoreClock {
    /// Remembers that this machine's clock is right. A relay that runs takes note within a minute.
    public static func accept(in location: StoreLocation) throws(StateError) {
        try use(location) { store throws(StateError) in
            try store.confirm(Int64(RelayClock.system() / 60))
        }
    }

    /// Returns the minutes that this machine's clock is ahead of the newest time that the store saw, if that is too much to
    /// be believed; negative for a clock that is behind, and 0 for one that agrees.
    public static func error(in location: StoreLocation) throws(StateError) -> Int64 {
        try use(location) { store throws(StateError) in
            RelayClock(try store.clock()).error ?? 0
        }
    }

    /// The warning about such a clock.
    public static func explanation(_ minutes: Int64, store: String) -> String {
        let (amount, unit) =
            abs(minutes) >= 2 * 24 * 60
            ? (abs(minutes) / (24 * 60), "days") : (abs(minutes) / 60, "hours")
        let what =
            minutes > 0
            ? "ahead of the newest time of the store; nothing expires until it has agreed for 6 hours"
            : "behind the newest time of the store, by which messages expire"
        return "the clock is \(amount) \(unit) \(what); if the clock is right: "
            + "relay check --store \(word(store)) --accept-clock"
    }

    /// A word of a shell's command line.
    private static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x2B...0x3A, 0x3D, 0x40...0x5A, 0x5F, 0x61...0x7A: true
            default: byte >= 0x80
            }
        }
        return isPlain && !text.isEmpty
            ? text : "'" + text.replacingAll("'", with: #"'\''"#) + "'"
    }

    private static func use<T>(
        _ location: StoreLocation, _ body: (any Store) throws(StateError) -> T
    ) throws(StateError) -> T {
        let store = try location.open(Retention(), isAlone: false)
        let value: T
        do throws(StateError) {
            value = try body(store)
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
        return value
    }
}
