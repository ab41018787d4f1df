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
    /// The names of the members of the open group who read the messages of the user.
    let readers: [String]
    /// Whether each member of this group decides who reads their messages.
    let asksForGrants: Bool

    func lines(of record: JSONObject) -> [String] {
        record.isA("group") ? lines(ofGroup: record) : lines(ofMessage: record)
    }

    private func line(_ title: String, _ fact: String?) -> [String] {
        fact.map { [MessageRows.padded(title, Self.column) + $0] } ?? []
    }

    private func words(_ time: Timestamp?) -> String? { time.map { Words.moment(localTime($0)) } }

    // MARK: Messages

    private func lines(ofMessage record: JSONObject) -> [String] {
        let isOwn = record["direction"]?.string == "sent"
        let author = record.line("from") ?? ""
        let body = record["body"]?.object
        var lines = line("from", isOwn ? "me" : name(author))
        lines += line("written", words(record.time("time") ?? record.time("received")))
        lines += line("ends", words(record.time("expires")))
        let versions = record["edited"]?.object?["versions"]?.integer
        lines += line("edited", versions.map { Words.count(Int(clamping: $0 - 1), "time") })
        if isOwn { lines += line("status", status(record)) }
        for receipt in (record["receipts"]?.array ?? []).prefix(Self.limit).compactMap(\.object) {
            let who = name(receipt.line("from") ?? "")
            let what = receipt["status"]?.string == "read" ? "read it" : "got it"
            let time = words(receipt.time("time")).map { ", \($0)" } ?? ""
            lines += line("", "\(who) \(what)\(time)")
        }
        for reaction in (record["reactions"]?.array ?? []).prefix(Self.limit).compactMap(\.object) {
            let emoji = reaction.line("emoji", limit: 8) ?? ""
            let who = name(reaction.line("from") ?? "")
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
        case "unsent": "has not left this machine; after a minute /resend sends it again"
        case "queued": "waits"
        case "handedOn": "was handed on"
        case "stored":
            (record["receipts"]?.array ?? []).isEmpty
                ? "the relay has it; no receipt has come" : "the relay has it"
        case "delivered": "was delivered"
        case "read": "was read"
        case "failed": "was not sent"
        case nil where record["details"]?.object?["copies"]?.integer == 0 && readers.isEmpty:
            asksForGrants
                ? "nobody sees it yet: /grant NAME shows a member your messages"
                : "nobody sees it: the group had no other members"
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
        let about = record.line("about", limit: 400)
        let timer = record["timer"]?.integer.flatMap { $0 > 0 ? $0 : nil }
        let members = record["members"]?.integer.map { "\($0), you: \(ownRank(record))" }
        return line("name", record.line("name", limit: 40))
            + line("about", about) + line("members", members)
            + line("write", rank("post")) + line("invite", rank("add"))
            + line("read", visibility(policy?["visibility"]?.string))
            + line("", asksForGrants ? shownTo : nil)
            + line("change", rank("edit")) + line("pin", rank("pin"))
            + line("timer", timer.map { "messages end after \(Words.time($0))" })
            + line("id", record.line("id"))
    }

    private func visibility(_ rule: String?) -> String? {
        switch rule {
        case "granted": "each author decides: /grant NAME shows a member your messages"
        case "global": "members, also what was written before they joined"
        case "joined": "members, from the time when they joined"
        default: nil
        }
    }

    private var shownTo: String {
        readers.isEmpty
            ? "nobody sees your messages yet"
            : "yours are shown to \(readers.prefix(20).joined(separator: ", "))"
                + (readers.count > 20 ? " and \(readers.count - 20) more" : "")
    }

    private func ownRank(_ record: JSONObject) -> String {
        switch record["standing"]?.string {
        case "member": record.line("rank", limit: 20) ?? "member"
        case "invited": "invited"
        default: "not a member"
        }
    }
}
