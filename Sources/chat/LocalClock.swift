import Glibc
import Sotto
import SottoChat

/// The user's time zone.
enum LocalClock {
    static func time(of time: Timestamp) -> ChatOptions.LocalTime {
        var seconds = time_t(time.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return ChatOptions.LocalTime(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), weekday: Int(parts.tm_wday))
    }
}
