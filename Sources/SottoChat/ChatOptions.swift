package import Sotto

/// The settings from the command line and the terminal.
package struct ChatOptions: Sendable {
    /// The form in which the program talks.
    package enum Form: Sendable, Hashable {
        /// A screen: keys come in, and ``ChatState/screen()`` is painted.
        case screen
        /// Lines: ``ChatEvent/entered(_:)`` comes in, and ``ChatEffect/print(_:)`` goes out.
        case lines
    }

    /// A local time of the user's time zone.
    package struct LocalTime: Sendable, Hashable {
        package var year, month, day, hour, minute: Int
        /// The day of the week; 0 is Sunday.
        package var weekday: Int

        package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, weekday: Int) {
            (self.year, self.month, self.day) = (year, month, day)
            (self.hour, self.minute, self.weekday) = (hour, minute, weekday)
        }
    }

    /// The contact or group of the command line; `nil` for the list.
    package var who: String?
    package var form: Form = .screen
    /// Whether a person types, who does not wait long for a relay at the end.
    package var isInteractive = true
    package var columns = 80
    package var rows = 24
    /// Whether the terminal has 256 colours and the user wants colours, so that pictures have previews.
    package var showsPictures = false
    /// Whether --notify gives a command.
    package var notifies = false
    /// Whether `$SOTTO_RELAY` has the messages to people whose card names no relay.
    package var hasStandardRelay = false
    /// The home directory, for paths that begin with `~/`.
    package var home = ""
    package var now: Timestamp
    /// Returns the local time of a time.
    package var localTime: @Sendable (Timestamp) -> LocalTime

    package init(now: Timestamp, localTime: @escaping @Sendable (Timestamp) -> LocalTime) {
        (self.now, self.localTime) = (now, localTime)
    }
}
