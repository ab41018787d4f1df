import Glibc
package import Sotto

/// The words for the origin of a forwarded message, as its author claims it.
package enum ForwardedWords {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// Returns words such as `forwarded from bob, 12 March`, or `nil` if a message was not forwarded. `name` returns the name of a
    /// person, or `nil` if the person has none here.
    package static func of(
        _ body: JSONObject, name: (KeyID) throws -> String?
    ) throws -> String? {
        guard body["forwarded"] != nil,
            let origin = (try? MessageBody(body, isLocal: true))?.content.forwarded
        else { return nil }
        var words = "forwarded"
        if let from = origin.from {
            let known = try name(from)
            words += " from " + (known ?? "\(from.description.prefix(16))…")
        }
        if let time = origin.time { words += ", " + day(of: time) }
        return words
    }

    /// Returns the local day of a time, with the year if it is another one than now.
    private static func day(of time: Timestamp) -> String {
        let (date, now) = (local(time), local(.now()))
        let day = "\(date.tm_mday) \(months[Int(date.tm_mon)])"
        return date.tm_year == now.tm_year ? day : "\(day) \(Int(date.tm_year) + 1900)"
    }

    private static func local(_ time: Timestamp) -> tm {
        var seconds = time_t(time.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }
}
