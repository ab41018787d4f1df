public import Arguments
import Glibc
public import Sotto

extension Timestamp: ExpressibleByArgument {
    /// Parses a time with an offset as the options of `date` print it, or a local day, with or without a local time.
    ///
    /// The forms are those of RFC 3339, also without seconds, with a space in place of the `T`, with a comma before the
    /// fraction, and with an offset such as `+0100`. Without an offset the time is local; a day is its beginning.
    public init?(argument: String) {
        var form = TimeForm(Pasted.text(argument))
        guard form.takeDay() else { return nil }
        if form.isAtEnd {
            self.init(local: form)
            return
        }
        guard form.takeMark("T", "t", " "), form.takeMinutes() else { return nil }
        var whole = form
        if whole.takeSeconds(), whole.takeFraction(".", ",") { form = whole }
        if form.isAtEnd {
            self.init(local: form)
            return
        }
        _ = form.takeMark(" ")
        guard form.takeOffset(.any), form.isAtEnd else { return nil }
        self.init(form)
    }

    /// The forms of a time.
    public static var argumentForm: String {
        "a day such as 2026-11-25, a local time such as \"2026-11-25 07:20\", or a time with an offset such as 2026-11-25T07:20:00Z or 2026-11-25T08:20:00+01:00"
    }

    /// Creates the time of a local day or a local time.
    private init?(local form: TimeForm) {
        guard Self.range.contains(form.local), !form.isLeapSecond else { return nil }
        var seconds = time_t(form.local)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        parts.tm_isdst = -1
        self.init(seconds: Int64(mktime(&parts)))
    }
}
