import Sotto

/// The clock state of a store, for the operator.
public enum StoreClock {
    /// Stores that this machine's clock is right. A running relay notices it within a minute.
    public static func accept(in location: StoreLocation) throws(StoreError) {
        try use(location) { store throws(StoreError) in
            try store.confirm(Int64(RelayClock.system() / 60))
        }
    }

    /// Returns the minutes that this machine's clock is ahead of the newest time in the store and not accepted,
    /// negative if it is behind, and 0 if it agrees.
    public static func error(in location: StoreLocation) throws(StoreError) -> Int64 {
        try use(location) { store throws(StoreError) in
            RelayClock(try store.clock()).error ?? 0
        }
    }

    /// Returns the warning about a clock that is off by `minutes` minutes.
    public static func explanation(_ minutes: Int64, store: String) -> String {
        let (amount, unit) =
            abs(minutes) >= 2 * 24 * 60
            ? (abs(minutes) / (24 * 60), "days") : (abs(minutes) / 60, "hours")
        let what =
            minutes > 0
            ? "ahead of the newest time in the store; nothing expires until the clock has agreed with the elapsed time for 6 hours"
            : "behind the newest time in the store, and messages expire by the time in the store"
        return "the clock is \(amount) \(unit) \(what); if the clock is right: "
            + "sotto relay check --store \(word(store)) --accept-clock"
    }

    /// Quotes a word for a shell, if necessary.
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
        _ location: StoreLocation, _ body: (any Store) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let store = try location.open(Retention(), isExclusive: false)
        let value: T
        do throws(StoreError) {
            value = try body(store)
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
        return value
    }
}
