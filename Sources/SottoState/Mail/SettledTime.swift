import Sotto
import SottoDatabase

/// The time that decides which old data is deleted.
///
/// The clock may be wrong, and a deletion cannot be undone. So old data is deleted by the clock of an earlier day on
/// which the state was used.
extension StateTransaction {
    private static let newest = "clock newest"
    private static let earlier = "clock earlier"

    /// Returns the time of the last earlier day on which this was called, never later than `time`; the year 1970 on the
    /// first day.
    ///
    /// One call with a clock that is years ahead deletes nothing. A clock that is still ahead on a second day is
    /// trusted.
    func settledTime(at time: Timestamp) throws(StateError) -> Timestamp {
        let newest = try remembered(Self.newest)
        var earlier = try remembered(Self.earlier)
        if let newest, time.seconds < newest - Self.day {
            // The clock was ahead, or is wrong now: the earlier time is used.
            earlier = min(earlier ?? 0, time.seconds)
            try remember(Self.newest, time.seconds)
            try remember(Self.earlier, earlier ?? 0)
        } else if newest == nil || time.seconds / Self.day > (newest ?? 0) / Self.day {
            earlier = newest
            try remember(Self.newest, time.seconds)
            if let earlier { try remember(Self.earlier, earlier) }
        }
        return Timestamp(seconds: min(earlier ?? 0, time.seconds))
    }

    /// Returns the number with a name, or `nil`.
    func remembered(_ name: String) throws(StateError) -> Int64? {
        return try connection.first("SELECT value FROM number WHERE name = ?", name) {
            $0.integer(0)
        }
    }

    /// Stores a number under a name.
    func remember(_ name: String, _ value: Int64) throws(StateError) {
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, name, value)
    }
}
