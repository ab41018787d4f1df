import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

struct AddressCommand: Program {
    static let configuration = CommandConfiguration(
        name: "address",
        abstract: "Print a card for one contact, with a send address that only this contact knows.",
        usage: """
            sotto contact address [--relay URL] [--new] NAME
            sotto contact address --revoke NAME
            """,
        discussion: """
            Give it to the contact instead of your card. The contact's messages go to this address, and recv fetches them \
            with your other mail. Two contacts cannot find out by comparing addresses that both are yours, and the relay \
            does not learn the sender. After the address is revoked or the contact is blocked, no mail arrives from it; \
            the contact is not told.

            EXAMPLES
              sotto contact address --relay tls://relay.example.org:7667 bob > for-bob.card
              sotto contact address --revoke bob
            """)

    @Option(
        "--relay", value: "url",
        help: "The relay where you fetch your mail; it is included in the card.")
    var relay: String?

    @Flag("--new", help: "Create a new address; mail to the old one is no longer fetched.")
    var new = false

    @Flag(
        "--revoke",
        help: "Revoke the address. Mail to it that was not fetched yet cannot be read.")
    var revoke = false

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    func validate() throws {
        guard !revoke || !new && relay == nil && !records.isForced else {
            throw UsageError("--revoke cannot be combined with --new, --relay or --json")
        }
    }

    func execute() throws {
        let open = try options.open()
        if revoke { return try end(open) }
        // The card of another device is no person's.
        guard open.identity.owner == nil else { throw Failure.onlyMachineOne }
        try records.check(file: "for-\(name).card")
        let relay = try relay.map { text throws(Failure) in
            try RelayURL(argument: text).text
        }
        let contact = try open.change(name) { contact, _ in
            guard !contact.isBlocked else {
                throw Failure(
                    .no, "\(contact.name) is blocked",
                    hint: "sotto contact unblock \(contact.argument)")
            }
            if new || contact.address == nil { contact.replaceAddress(by: SendAddress()) }
        }
        let output = try Output(path: "-", content: .text)
        let card = open.identity.card(
            relay: relay, address: contact.address, issued: .now())
        if let record = card.record { try output.writeLine(record) }
        try output.finish()
    }

    private func end(_ open: OpenBook) throws {
        var had = false
        let contact = try open.change(name) { contact, _ in
            had = contact.address != nil
            contact.replaceAddress(by: nil)
        }
        guard had else { throw Failure(.no, "\(contact.name) has no address of yours") }
        options.note("mail of \(contact.name) to the revoked address is no longer fetched")
    }
}

extension Failure {
    fileprivate static let onlyMachineOne = Failure(
        .usage, "only machine one gives out a card with a separate address",
        hint: "run this command there")
}
