import Sotto
import SottoBytes

/// The lines of `/info`, from the record of a message or of a group.
struct FactLines {
    /// The subject of the lines.
    enum Subject: Sendable, Hashable {
        case message(Int64)
        case group(String)

        var title: String {
            switch self {
            case .message(let number): "message \(number)"
            case .group: "group"
            }
        }

        /// The tool that prints the record.
        var command: [String] {
            switch self {
            case .message(let number): ["history", "show", "--json", "--", "\(number)"]
            case .group(let id): ["group", "show", "--json", "--", id]
            }
        }
    }

    /// The most people that are listed.
    private static let limit = 1_000
    /// The columns of the names of facts.
    private static let column = 10

    let localTime: @Sendable (Timestamp) -> ChatOptions.LocalTime
    /// The names of people by id.
    let name: (String) -> String

    func lines(of record: JSONObject) -> [String] {
        record["type"]?.string == "group" ? lines(ofGroup: record) : lines(ofMessage: record)
    }

    private func line(_ title: String, _ fact: String?) -> [String] {
        fact.map { [MessageRows.padded(title, Self.column) + $0] } ?? []
    }

    private func time(_ value: JSON?) -> String? {
        guard let text = value?.string, text.utf8.count < 64, let time = Timestamp(text) else {
            return nil
        }
        return Words.moment(localTime(time))
    }

    // MARK: Messages

    private func lines(ofMessage record: JSONObject) -> [String] {
        let isOwn = record["direction"]?.string == "sent"
        let author = Cells.line(record["from"]?.string ?? "", limit: 80)
        let body = record["body"]?.object
        var lines = line("from", isOwn ? "me" : name(author))
        lines += line("written", time(record["time"]) ?? time(record["received"]))
        lines += line("ends", time(record["expires"]))
        let versions = record["edited"]?.object?["versions"]?.integer
        lines += line("edited", versions.map { Words.count(Int(clamping: $0 - 1), "time") })
        if isOwn { lines += line("status", status(record)) }
        for receipt in (record["receipts"]?.array ?? []).prefix(Self.limit).compactMap(\.object) {
            let who = name(Cells.line(receipt["from"]?.string ?? "", limit: 80))
            let what = receipt["status"]?.string == "read" ? "read it" : "got it"
            lines += line("", "\(who) \(what)" + (time(receipt["time"]).map { ", \($0)" } ?? ""))
        }
        for reaction in (record["reactions"]?.array ?? []).prefix(Self.limit).compactMap(\.object) {
            let emoji = Cells.line(reaction["emoji"]?.string ?? "", limit: 8)
            let who = name(Cells.line(reaction["from"]?.string ?? "", limit: 80))
            lines += line("reaction", "\(emoji) \(who)")
        }
        lines += line("file", body?["name"]?.string.map { Cells.line($0, limit: 200) })
        lines += line("size", body?["size"]?.integer.map { Words.size(max(0, $0)) })
        if let text = body?["text"]?.string {
            lines.append("")
            lines += Cells.plain(text).split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
        }
        return lines
    }

    private func status(_ record: JSONObject) -> String {
        switch record["status"]?.string {
        case "unsent", "queued": "waits"
        case "handedOn": "was handed on"
        case "stored": "the relay has it; no receipt has come"
        case "delivered": "was delivered"
        case "read": "was read"
        case "failed": "was not sent"
        default: "not known"
        }
    }

    // MARK: Groups

    private func lines(ofGroup record: JSONObject) -> [String] {
        let policy = record["policy"]?.object
        func rank(_ rule: String) -> String? {
            policy?[rule]?.string.map { rank in
                let shown = Cells.line(rank, limit: 20)
                return shown == "reader"
                    ? "all" : shown == "owner" ? "owners" : "\(shown)s and above"
            }
        }
        let about = record["about"]?.string.map { Cells.line($0, limit: 400) }
        let timer = record["timer"]?.integer.flatMap { $0 > 0 ? $0 : nil }
        let members = record["members"]?.integer.map { "\($0), you: \(ownRank(record))" }
        return line("name", record["name"]?.string.map { Cells.line($0, limit: 40) })
            + line("about", about) + line("members", members)
            + line("write", rank("post")) + line("invite", rank("add"))
            + line("change", rank("edit")) + line("pin", rank("pin"))
            + line("timer", timer.map { "messages end after \(Words.time($0))" })
            + line("id", record["id"]?.string.map { Cells.line($0, limit: 80) })
    }

    private func ownRank(_ record: JSONObject) -> String {
        switch record["standing"]?.string {
        case "member": Cells.line(record["rank"]?.string ?? "member", limit: 20)
        case "invited": "invited"
        default: "not a member"
        }
    }
}
