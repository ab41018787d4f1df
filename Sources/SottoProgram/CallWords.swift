package import SottoBytes

/// The words for a call in a list of messages.
package enum CallWords {
    /// Returns one line, such as `missed call` or `audio call, 3 min`, for the body that stands for a call in the output of
    /// `history`: its type is `system` and its event `call`. Unknown and missing members are left out.
    package static func of(_ body: JSONObject) -> String {
        let media: String? =
            switch body["media"]?.string {
            case "audio": "audio"
            case "video": "video"
            default: nil
            }
        let call = media.map { "\($0) call" } ?? "call"
        let line =
            switch body["state"]?.string {
            case "missed": "missed \(call)"
            case "ringing": "\(call), ringing"
            case "answered": "\(call), answered"
            case "ended": "\(call), \(duration(body["seconds"]?.integer ?? 0))"
            case "unanswered": "\(call), not answered"
            case "declined": "\(call), declined"
            case "busy": "\(call), busy"
            case "failed": "\(call), failed"
            default: call
            }
        guard let more = body["more"]?.integer, more > 0 else { return line }
        return "\(line), and \(more) more"
    }

    /// Returns a duration in the largest units, cut to whole ones.
    private static func duration(_ seconds: Int64) -> String {
        guard seconds >= 60 else { return "\(max(0, seconds)) s" }
        let minutes = seconds / 60
        guard minutes >= 60 else { return "\(minutes) min" }
        return "\(minutes / 60) h \(minutes % 60) min"
    }
}
