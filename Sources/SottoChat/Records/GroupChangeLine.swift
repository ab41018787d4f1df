import Sotto
import SottoBytes

/// A change of a group between its messages, from a record `change` of `history`.
struct GroupChangeLine: Sendable, Hashable {
    /// The members of an event that tell changes apart; names of people can change.
    private static let facts = ["event", "who", "by", "what", "role"]

    /// The identity of the change: its time, its message and its events.
    let id: String
    /// The number of the message that brought it, or 0 for an own change.
    let number: Int64
    let time: Timestamp
    /// The words for the change, with the names of people.
    let text: String

    /// Reads a record. Returns `nil` if it is no change of `group`, or tells nothing. `nameOf` returns the name of a person with an id.
    init?(_ record: JSONObject, in group: String, _ nameOf: @escaping (String) -> String) {
        guard record.isA("change"), record["group"]?.string == group,
            let time = record.time("time"), let body = record["body"]?.object
        else { return nil }
        let events = (body["events"]?.array ?? []).prefix(50).compactMap(\.object)
        let words = events.compactMap { GroupEventWords($0, nameOf).text }
        guard !words.isEmpty else { return nil }
        number = max(0, record["number"]?.integer ?? 0)
        self.time = time
        text = Cells.line(words.joined(separator: "; "), limit: 400)
        let facts = events.flatMap { event in
            Self.facts.map { Cells.line(event[$0]?.string ?? "", limit: 80) }
        }
        id = "\(time.seconds) \(number) " + facts.joined(separator: " ")
    }
}
