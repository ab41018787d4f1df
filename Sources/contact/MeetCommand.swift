import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct MeetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "meet",
        abstract: "Make a verified contact with a spoken code: one side of a meeting.",
        usage: "sotto contact meet [--code SOURCE] [--name NAME]",
        discussion: """
            Reads the records of recv --meeting and prints records for send. Without --code it makes a code of a number and \
            three words and shows it; the other person joins with it. Both have the other as a verified contact then. A \
            wrong code ends the meeting on both sides, with 14. sotto meet runs the whole pipe.

            EXAMPLES
              sotto recv --meeting new | sotto contact meet | sotto send
              sotto recv --meeting 417 | sotto contact meet --code @FD:3 3< code | sotto send
            """)

    @Option(
        "--code", value: "source",
        help: "The code that the other person said: @ENV:NAME, @FD:N or @FILE:PATH.")
    var code: SecretSource?

    @Option(
        "--name", value: "name",
        help: "The name of the new contact. Default: the name on the card.", values: .any)
    var name: String?

    @Option(
        "--ready-fd", value: "fd",
        help:
            "Write your relay and a line feed to this descriptor when the code and the identity are read.",
        values: .any)
    var readyDescriptor: Int32?

    @OptionGroup var options: ContactOptions

    func validate() throws { try code?.validate() }

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        let code = try readCode()
        let open = try options.open()
        let newcomer = MetContact(name: name, open: open, options: options)
        try newcomer.checkName()
        // Before the other person waits.
        _ = try newcomer.ownCard()
        try readyDescriptor.map { try MeetingTable.sayReady(open.identity.relay, to: $0) }
        let table = try MeetingTable(holdsInterrupt: readyDescriptor != nil)
        switch (code, table.first) {
        case (_, .message(.end)): throw Failure(MeetingEnd.byOther)
        case (nil, .place): try newcomer.initiate(at: table)
        case (let code?, .message(let offer)): try newcomer.join(offer, with: code, at: table)
        case (_?, .place):
            throw Failure(
                .usage, "the code is for joining a meeting, and this place is new",
                hint: "omit --code to make a new code, or give the number of the code to recv")
        case (nil, .message):
            throw Failure(
                .usage, "the code of the meeting is missing",
                hint: "give it with --code @FD:N, or run sotto meet")
        }
    }

    /// Reads the code before the network is used: a code with a wrong word must not spend a try.
    private func readCode() throws -> HeardCode? {
        guard let code else { return nil }
        let secret = try code.read()
        return try HeardCode(secret)
    }

}
