import SottoBytes

/// An event of a group in words: who did what, as `history` writes it. Other people choose the names in it.
struct GroupEventWords {
    private let event: JSONObject
    private let nameOf: (String) -> String

    /// Creates the words for an event of a body of the type `group`. `nameOf` returns the name of a person with an id.
    init(_ event: JSONObject, _ nameOf: @escaping (String) -> String) {
        (self.event, self.nameOf) = (event, nameOf)
    }

    /// Whether the history prints the event among the messages.
    static func isStored(_ event: JSONObject) -> Bool {
        let stored = ["joined", "left", "role", "renamed", "changed", "conversation_deleted"]
        return event["event"]?.string.map { stored.contains($0) } ?? false
    }

    /// The words, or `nil` for an event that is a question and no news.
    var text: String? {
        let who = person("who", "name", "nickname") ?? "?"
        // The member who did it, if it is another one.
        let by = person("by", "byName", "byNickname")
        let other = event["by"]?.string == event["who"]?.string ? nil : by
        switch event["event"]?.string {
        case "joined": return "\(who) joined the group"
        case "left":
            if let other { return "\(other) removed \(who)" }
            let isOver = who == "you" && by == nil
            return isOver ? "you are no longer a member of the group" : "\(who) left the group"
        case "role":
            let rank = "the rank \(event.line("role", limit: 20) ?? "?")"
            if let other { return "\(other) gave \(who) \(rank)" }
            return "\(who) \(who == "you" ? "have" : "has") \(rank)"
        case "renamed":
            let called = event["called"]?.string.map { ", and is called \(shown($0)) here" } ?? ""
            let new = shown(event["name"]?.string ?? "?") + called
            return by.map { "\($0) named the group \(new)" } ?? "the group has the name \(new)"
        case "changed":
            guard let by else { return "the group was changed" }
            return event["what"]?.string == "nickname"
                ? "\(by) chose a nickname" : "\(by) changed \(subject)"
        case "conversation_deleted": return "\(who) deleted the group"
        case "confirmed": return "\(who) confirmed the group"
        case "fork": return "\(who) signed two different changes with one number"
        case "history": return "\(who) shows you earlier messages: \(event["count"]?.integer ?? 0)"
        case "question", "invited": return nil
        default: return "the group was changed"
        }
    }

    /// The words for the part that was changed.
    private var subject: String {
        switch event["what"]?.string {
        case "policy":
            let policy = event["policy"]?.object ?? [:]
            let rules = ["add", "edit", "post", "pin", "visibility"].compactMap { rule in
                policy[rule]?.string.map { "\(rule)=\(Cells.line($0, limit: 20))" }
            }
            let all = rules + ["relays", "door"].filter { policy[$0] != nil }
            return "the rules" + (all.isEmpty ? "" : ": \(all.joined(separator: ", "))")
        case "about": return "the description"
        case "avatar": return "the picture"
        case "timer":
            let end = event["timer"]?.integer.map { $0 == 0 ? " to none" : " to \(Words.time($0))" }
            return "the lifetime of messages" + (end ?? "")
        default: return "the group"
        }
    }

    /// Returns the name of a person: the contact's, else the nickname with the beginning of the id. `nil` if the event names none.
    private func person(_ id: String, _ name: String, _ nickname: String) -> String? {
        let key = event[id]?.string.map { Cells.line($0, limit: 80) }
        if let known = event[name]?.string, event["event"]?.string != "renamed" || id == "by" {
            return known == "me" ? "you" : Cells.line(known, limit: 40)
        }
        if let chosen = event[nickname]?.string {
            return Cells.line(chosen, limit: 31) + " " + String((key ?? "").prefix(8))
        }
        return key.map { nameOf($0) == "me" ? "you" : nameOf($0) }
    }

    /// Returns the name of a group, in quotation marks if it could be taken for the words around it.
    private func shown(_ name: String) -> String {
        let line = Cells.line(name, limit: 60)
        let isWord =
            !line.isEmpty && line.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
        return isWord ? line : Words.quoted(line)
    }
}
