import ArgumentParser
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct RequestsCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "List who wrote and is no contact, or print what waits of one of them.",
        usage: "contact requests [--json] [ID]",
        discussion: """
            With ID the envelopes are printed, one a line; they wait on. To read them before deciding:
              contact requests ID | decrypt --preview
            """)

    @Flag(help: "Print records, one JSON object a line.")
    var json = false

    @OptionGroup var options: ContactOptions

    @Argument(help: "An id, its beginning (8 characters or more), a card or a contact.")
    var id: String?

    func validate() throws {
        guard !(json && id != nil) else {
            throw ValidationError("--json is for the list; envelopes are JSON as they are")
        }
    }

    func execute() throws {
        let open = try options.open()
        if let id {
            let person = try open.person(id)
            let envelopes = try open.book.store()?.requestedEnvelopes(from: person.id) ?? []
            guard !envelopes.isEmpty else {
                throw Failure(.no, options.quiet ? "" : "nothing of \(person.shown) waits")
            }
            return try print(envelopes: envelopes)
        }
        let requests = try open.book.store()?.requests() ?? []
        guard !requests.isEmpty else { throw Failure(.no, options.quiet ? "" : "nothing waits") }
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
