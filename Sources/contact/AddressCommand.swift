import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool
import SottoWire

struct AddressCommand: Program {
    static let configuration = CommandConfiguration(
        name: "address",
        abstract: "Print a card for one contact, with an address that they alone know.",
        usage: """
            contact address [--relay URL] [--new] NAME
            contact address --revoke NAME
            """,
        discussion: """
            Give it to them in place of your card. What they write goes to that address; recv takes it along with \
            your other mail. Two who compare their addresses do not learn that both are yours, and the relay does not \
            learn who writes. Once it is revoked, or they are blocked, nothing comes from there, and they are not told.

            EXAMPLES
              contact address --relay tls://relay.example.org:7667 bob > for-bob.card
              contact address --revoke bob
            """)

    @Option(
        "--relay", value: "url", help: "The relay where you fetch your mail; put into the card.")
    var relay: String?

    @Flag("--new", help: "Make another address; the one that they have is no longer looked into.")
    var new = false

    @Flag(
        "--revoke",
        help: "Let go of their address. What they wrote there and was not fetched is not read.")
    var revoke = false

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A name, an id, or the beginning of one.")
    var name: String

    func validate() throws {
        guard !revoke || !new && relay == nil else {
            throw UsageError("--revoke goes alone")
        }
    }

    func execute() throws {
        let open = try options.open()
        if revoke { return try end(open) }
        let relay = try relay.map { text throws(Failure) in
            do throws(RelayURL.Invalid) { return try RelayURL(text).text } catch {
                throw Failure(
                    .usage, "the relay's address is not tcp://host:port",
                    hint: "for example --relay tcp://relay.example.org:7667")
            }
        }
        let contact = try open.change(name) { contact, _ in
            guard !contact.isBlocked else {
                throw Failure(
                    .no, "\(contact.name) is blocked",
                    hint: "contact unblock \(contact.argument)")
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
        options.note("what \(contact.name) writes to the address of theirs is no longer taken")
    }
}
