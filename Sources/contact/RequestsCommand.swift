import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct RequestsCommand: Program {
    static let configuration = CommandConfiguration(
        name: "requests",
        abstract:
            "List message requests: senders who are not contacts. Or print the waiting messages of one sender.",
        usage: """
            sotto contact requests [--text | --json] [ID]
            sotto contact requests --drop ID | --drop-all
            """,
        discussion: """
            A name in quotation marks and a relay are from the card that a message carries: the sender claims them. With ID \
            the envelopes are printed in a pipe, one per line, and stay in the list. To read them before you decide:
              contact requests ID | decrypt --preview
            Messages of a Whisper2 account whose keys are not known wait under its WhisperID, which can be given as ID. They can be             opened with the URL of the account:
              contact requests WSP-ID | bridge open whisper2 --preview --from URL
            The limits are 100 waiting messages per sender and 1,000 listed messages. When the list is full, messages of the \
            sender with the most, then of the busiest hour, are set aside, up to 64 MiB; the full ID of the sender prints them.
            """)

    @OptionGroup var form: OutputForm

    @Flag("--drop", help: "Delete the waiting messages of ID without blocking the sender.")
    var drop = false

    @Flag("--drop-all", help: "Delete all waiting messages without blocking the senders.")
    var dropAll = false

    @OptionGroup var options: ContactOptions

    @Argument(
        "id",
        help: "An id, its beginning (16 characters or more), a WhisperID, a card or a contact.")
    var id: String?

    func validate() throws {
        guard !isFormGiven || !drop && !dropAll else {
            throw UsageError("--text and --json cannot be combined with --drop or --drop-all")
        }
        guard !(drop && dropAll) else {
            throw UsageError("--drop and --drop-all cannot be combined")
        }
        guard !drop || id != nil else {
            throw UsageError("--drop requires an id; use --drop-all for all senders")
        }
        guard !dropAll || id == nil else {
            throw UsageError("--drop-all takes no id; use --drop for one sender")
        }
    }

    private var isFormGiven: Bool { form.text || form.json }

    func execute() throws {
        let open = try options.open()
        if dropAll { return try dropAll(open) }
        if let id {
            let person = try open.person(id)
            if drop { return try drop(person, open) }
            let envelopes = try open.waiting(from: person)
            guard !envelopes.isEmpty else { throw nothing(of: person) }
            guard !form.isText else { return try describe(envelopes, of: person, open) }
            return try print(envelopes: envelopes)
        }
        let requests = try open.book.store()?.requests() ?? []
        guard !requests.isEmpty else { throw nothing(of: nil) }
        let output = try Output(path: "-", content: .text)
        let known = try Known(requests, open)
        if !form.isText {
            for request in requests {
                let contact = try known.contact(of: request, open)
                try output.writeRecord(request.record(known.names, of: contact))
            }
        } else {
            var table = Table()
            for request in requests { table.add(try row(request, known, open)) }
            try output.writeText(table.text)
        }
        try output.finish()
        if form.isText, output.isTerminal { try noteAcceptance(of: requests, known, open) }
        if let aside = try open.book.store()?.requestsAside(), aside.messages > 0 {
            options.note(
                "\(counted(aside.messages, "message")) of \(counted(aside.senders, "sender")) set aside because the list is full: they return when others are dropped, and sotto contact requests prints them for a full id"
            )
        }
    }

    /// The knowledge of the address book about the senders of requests.
    private struct Known {
        let names: LookAlikeNames?
        /// The contacts with accounts. All contacts are read once, and only if a request is of an account.
        let holders: [WhisperID: Contact]

        init(_ requests: [MessageRequest], _ open: OpenBook) throws {
            names = try open.book.view { try $0.lookAlikeNames() }
            let hasAccounts = requests.contains { $0.account != nil }
            holders = hasAccounts ? try open.book.view { try $0.holders() } ?? [:] : [:]
        }

        /// Returns the contact who is the sender of a request, or `nil`.
        func contact(of request: MessageRequest, _ open: OpenBook) throws -> Contact? {
            guard let account = request.account else {
                return try open.book.store()?.readableContact(id: request.from)
            }
            return WhisperID(account).flatMap { holders[$0] }
        }
    }

    private func row(
        _ request: MessageRequest, _ known: Known, _ open: OpenBook
    ) throws -> [String] {
        // The sender may have become a contact whose messages were not read yet.
        let name = try known.contact(of: request, open)?.name ?? ""
        return [
            request.account ?? request.from.short, counted(request.count, "message"),
            request.firstSeen.description,
            name.isEmpty ? request.claimedName : Table.cut(name, to: Table.nameWidth),
            Table.cut(request.card?.relayAddress ?? "", to: MessageRequest.relayWidth),
            name.isEmpty ? request.holder(known.names)?.likeness ?? "" : "",
        ]
    }

    /// Prints how many messages of a person wait, in the form of the list, and names the commands that open them.
    private func describe(
        _ waiting: [[UInt8]], of person: Correspondent, _ open: OpenBook
    ) throws {
        let ids = person.waitingIDs
        let request = try open.book.store()?.requests().first { ids.contains($0.from) }
        let known = try Known(request.map { [$0] } ?? [], open)
        let account = request?.account ?? person.profiles.whisperID?.description
        var table = Table()
        table.add(
            try request.map { try row($0, known, open) }
                ?? [account ?? person.id.short, counted(waiting.count, "message")])
        let output = try Output(path: "-", content: .text)
        try output.writeText(table.text)
        try output.finish()
        let option = options.identity.identityOption
        // The beginning of an id names only a contact and a sender in the list.
        let id = account ?? (request == nil ? person.id.description : person.id.short)
        let sender = person.profiles.whisperID == nil ? "" : " --from URL"
        options.note(
            "to read before you decide: sotto contact requests \(id)\(option) | \(opener(of: waiting)) --preview --text\(sender)\(option)"
        )
        if let request { try noteAcceptance(of: [request], known, open) }
    }

    /// The number of senders for whom the command is printed that accepts them.
    private static let noted = 3

    /// Names the commands that accept the first senders. A sender needs a name if the one on the card is not free.
    private func noteAcceptance(
        of requests: [MessageRequest], _ known: Known, _ open: OpenBook
    ) throws {
        let option = options.identity.identityOption
        for request in requests.prefix(Self.noted) {
            if let account = request.account {
                let contact = try known.contact(of: request, open)
                let url = contact?.profiles.whisper2 == nil ? " URL" : ""
                options.note(
                    "to accept and read: sotto contact accept \(account)\(url)\(option) | sotto bridge open \(Profile.whisper2.rawValue)\(option)"
                )
                continue
            }
            let name = try isNamed(request, open) ? "" : " --name NAME"
            options.note(
                "to accept and read: sotto contact accept \(request.from.short)\(name)\(option) | sotto decrypt\(option)"
            )
        }
    }

    /// Returns whether `contact accept` needs no name: the sender is a contact, or the name on the card is free.
    private func isNamed(_ request: MessageRequest, _ open: OpenBook) throws -> Bool {
        try open.book.view { state in
            if try state.readableContact(id: request.from) != nil { return true }
            guard let card = request.card else { return false }
            do {
                _ = try state.freeName(nil, for: card, hint: "")
                return true
            } catch let failure as Failure where failure.status == .usage {
                return false
            }
        } ?? false
    }

    private func drop(_ person: Correspondent, _ open: OpenBook) throws {
        let ids = person.waitingIDs
        let count = try open.book.store()?.transaction { transaction in
            try ids.reduce(0) { try $0 + transaction.forgetRequests(from: $1) }
        }
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
        return Failure(.no, options.quiet ? "" : "no message\(whose) waits")
    }
}

/// Prints envelopes, one per line; on a terminal, received text is escaped.
func print(envelopes: [[UInt8]]) throws {
    let output = try Output(path: "-", content: .text)
    for envelope in envelopes {
        // One that is not JSON fails in decrypt.
        if output.isTerminal, let record = try? JSON.object(parsing: envelope) {
            try output.writeRecord(record)
        } else {
            try output.write(envelope + [UInt8(ascii: "\n")])
        }
    }
    try output.finish()
}

extension MessageRequest {
    /// The greatest displayed width of a relay, in columns.
    fileprivate static let relayWidth = 64

    /// The name on the card in quotation marks, or an empty text: the sender chose it.
    fileprivate var claimedName: String {
        guard let card, !card.name.isEmpty else { return "" }
        let quoted = JSON.string(Table.cut(card.name, to: Table.nameWidth)).serialized()
        return String(decoding: quoted, as: UTF8.self)
    }

    /// Returns the holder of the known name that the name on the card looks like.
    fileprivate func holder(_ names: LookAlikeNames?) -> LookAlikeNames.Holder? {
        card.flatMap { names?.holder(like: $0.name, of: from) }
    }

    /// Returns the record: `{"v":1,"type":"requests","from","name","account","count","firstSeen","claimedName","looksLike",
    /// "relay"}`. `contact` is the sender, who can be one by now.
    func record(_ names: LookAlikeNames?, of contact: Contact?) -> JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("requests")),
            ("from", .string(from.description)),
            (
                "name",
                contact.flatMap { $0.name.isEmpty || $0.isBlocked ? nil : .string($0.name) }
            ),
            ("account", account.map { .string($0) }),
            ("count", .integer(Int64(count))),
            ("firstSeen", .string(firstSeen.description)),
            ("claimedName", card.flatMap { $0.name.isEmpty ? nil : .string($0.name) }),
            ("looksLike", holder(names).map { .string($0.name) }),
            ("relay", card?.relayAddress.map { .string($0) }),
        ])
    }
}
