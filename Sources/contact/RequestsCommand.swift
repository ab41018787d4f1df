import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct RequestsCommand: Program {
    static let configuration = CommandConfiguration(
        name: "requests",
        abstract: "List who wrote and is no contact, or print what waits of one of them.",
        usage: """
            contact requests [--json] [ID]
            contact requests --drop ID | --drop-all
            """,
        discussion: """
            With ID the envelopes are printed, one a line; they wait on. To read them before deciding:
              contact requests ID | decrypt --preview
            Of one sender 100 messages wait, and 1,000 are listed: the sender with the most, then the busiest hour, \
            makes room for others. What made room is set aside, up to 64 MiB; the whole ID of its sender prints it.
            """)

    @Flag("--json", help: "Print records, one JSON object a line.")
    var json = false

    @Flag("--drop", help: "Throw away what waits of ID, without blocking them.")
    var drop = false

    @Flag("--drop-all", help: "Throw away all that waits, without blocking anybody.")
    var dropAll = false

    @OptionGroup var options: ContactOptions

    @Argument("id", help: "An id, its beginning (16 characters or more), a card or a contact.")
    var id: String?

    func validate() throws {
        guard !(json && id != nil) else {
            throw UsageError("--json is for the list; envelopes are JSON as they are")
        }
        guard !(json && (drop || dropAll)) else {
            throw UsageError("--json is for the list, not for what is dropped")
        }
        guard !(drop && dropAll) else {
            throw UsageError("--drop and --drop-all exclude each other")
        }
        guard !drop || id != nil else {
            throw UsageError("--drop takes an id; --drop-all drops what all sent")
        }
        guard !dropAll || id == nil else {
            throw UsageError("--drop-all takes no id; --drop drops what one sent")
        }
    }

    func execute() throws {
        let open = try options.open()
        if dropAll { return try dropAll(open) }
        if let id {
            let person = try open.person(id)
            if drop { return try drop(person, open) }
            let envelopes = try open.book.store()?.requestedEnvelopes(from: person.id) ?? []
            guard !envelopes.isEmpty else { throw nothing(of: person) }
            return try print(envelopes: envelopes)
        }
        let requests = try open.book.store()?.requests() ?? []
        guard !requests.isEmpty else { throw nothing(of: nil) }
        let output = try Output(path: "-", content: .text)
        if json {
            for request in requests { try output.writeRecord(request.record) }
        } else {
            var table = Table()
            for request in requests {
                // Somebody may have been added since, and their messages not yet been read.
                let name = try open.book.store()?.contact(id: request.from)?.name ?? ""
                table.add([
                    request.from.short, counted(request.count, "message"),
                    request.firstSeen.description, Table.cut(name, to: Table.nameWidth),
                ])
            }
            try output.writeText(table.text)
        }
        try output.finish()
        if let aside = try open.book.store()?.requestsAside(), aside.messages > 0 {
            options.note(
                "\(counted(aside.messages, "message")) of \(counted(aside.senders, "sender")) made room in the list and are set aside: they come back when others are dropped, and contact requests with the whole id prints them"
            )
        }
    }

    private func drop(_ person: Correspondent, _ open: OpenBook) throws {
        let count = try open.book.store()?.transaction { try $0.forgetRequests(from: person.id) }
        guard let count, count > 0 else { throw nothing(of: person) }
        options.note("dropped \(counted(count, "message")) of \(person.shown)")
    }

    private func dropAll(_ open: OpenBook) throws {
        let dropped = try open.book.store()?.transaction { try $0.forgetAllRequests() }
        guard let dropped, dropped.messages > 0 else { throw nothing(of: nil) }
        options.note(
            "dropped \(counted(dropped.messages, "message")) of \(counted(dropped.senders, "sender"))"
        )
    }

    private func nothing(of person: Correspondent?) -> Failure {
        let whose = person.map { " of \($0.shown)" } ?? ""
        return Failure(.no, options.quiet ? "" : "nothing\(whose) waits")
    }
}

/// Prints envelopes, one a line; on a terminal with what others put into them escaped.
func print(envelopes: [[UInt8]]) throws {
    let output = try Output(path: "-", content: .text)
    for envelope in envelopes {
        if output.isTerminal {
            try output.writeRecord(try JSON.object(parsing: envelope))
        } else {
            try output.write(envelope + [UInt8(ascii: "\n")])
        }
    }
    try output.finish()
}

extension MessageRequest {
    /// The record: `{"v":1,"type":"requests","from","count","first_seen"}`.
    var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("requests")),
            ("from", .string(from.description)), ("count", .integer(Int64(count))),
            ("first_seen", .string(firstSeen.description)),
        ])
    }
}
