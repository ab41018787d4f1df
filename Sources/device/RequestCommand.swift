import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool
import SottoWire

/// `device request`: the new machine.
struct RequestCommand: Program {
    static let configuration = CommandConfiguration(
        name: "request",
        abstract: "On the new machine: show a code, and become a device.",
        usage: """
            sotto device request --name NAME [--relay URL] [--uri] [-o FILE]
            """,
        discussion: """
            Reads the records of recv --meeting and prints records for send; --send runs the whole pipe. The code is good once, \
            for ten minutes. Machine one joins with device add. With --uri the code is a URI with a QR code, which \
            somebody else can photograph: both machines then show a number, and go on after both were told that it is the \
            same. The identity of the device is written to the default identity file, with a passphrase, when machine one \
            has signed it; before that nothing is written. Then its prekeys are published.

            EXAMPLES
              sotto device request --name laptop --send
              sotto recv --meeting new | sotto device request --name laptop | sotto send
            """)

    @Option("--name", value: "name", help: "The name of the new device, such as laptop.")
    var name: String

    @Flag(
        "--uri",
        help: "Show a URI and its QR code instead of a code to type, and compare a number.")
    var uri = false

    @Option(
        "--relay", value: "url",
        help:
            "The relay where the device fetches its mail, and with --send that of the meeting. Default: the one on the owner's card."
    )
    var relay: String?

    @Option(
        "-o", "--output", value: "file",
        help: "Identity file to create, mode 0600. Default: the default identity file.")
    var output: String?

    @Option(
        "--passphrase", value: "source",
        help: "Passphrase of the new file: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Option(
        "--ready-fd", value: "fd",
        help: "Write a line feed to this descriptor when the passphrase is read.", values: .any)
    var readyDescriptor: Int32?

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    func validate() throws {
        try checkDeviceName(name)
        try passphrase?.validate()
        guard output != "-" else { throw UsageError("the identity cannot go to stdout") }
    }

    func execute() throws {
        let address = try relay.map { try RelayURL(argument: $0) }
        var destination = try SavingOptions.open(
            output ?? IdentityFile.defaultPath(), protect: true, passphrase: passphrase,
            tool: DeviceTool.toolName, quiet: quiet)
        // The other machine does not wait for it.
        try destination.deriveKey()
        let seed = SecretBytes(randomCount: 32)
        try readyDescriptor.map { try MeetingTable.sayReady(nil, to: $0) }
        let table = try MeetingTable(holdsInterrupt: readyDescriptor != nil)
        guard case .place = table.first else {
            throw Failure(
                .usage, "the new machine makes the code, and this place has one",
                hint: "use a new place: sotto device request --name NAME --relay URL --send")
        }
        let (device, card) = try pair(seed, address, at: table)
        // The state is complete before other programs can use the identity.
        let store = try IdentityStore(
            directory: .standard(), identity: device, lockTimeout: lock.timeout,
            report: Terminal.note)
        let isKept = try store.transaction { transaction in
            try transaction.notePairing()
            return try transaction.keep(ownersCard: card)
        }
        guard isKept else {
            throw Failure(.bug, "the card of the owner was not kept")
        }
        try destination.save(device)
        var preKeys = try store.transaction { try $0.publication() }.record
        preKeys["relay"] = .string(device.relay ?? table.relay.text)
        try table.send(record: preKeys)
        guard !quiet else { return }
        let who = card.name.isEmpty ? card.id.short + "…" : card.name
        Terminal.note("this machine is now \(name), a device of \(who)")
        Terminal.note("to receive what machine one sends: sotto recv | sotto decrypt --text")
    }

    /// Meets machine one. Returns the identity of this machine, and the owner's card whose list has it.
    private func pair(
        _ seed: borrowing SecretBytes, _ address: RelayURL?, at table: MeetingTable
    ) throws -> (device: Identity, card: Card) {
        let code = MeetingCode(randomFor: table.number)
        let initiator = MeetingInitiator(code, relay: table.relay.name, for: .device)
        try table.send(initiator.offer)
        try PairingCode.show(code, table.relay, asURI: uri)
        if !quiet { Terminal.say("Waiting for machine one, at most ten minutes…") }
        guard let answer = try table.next() else { throw Failure.pairing(ended: false) }
        if answer == .end { throw Failure.pairing(ended: true) }
        let keys = try table.pairing { try initiator.keys(answer) }
        let owner = try table.pairing { try Self.checked(keys.open(answer)) }
        table.releaseInterrupt()
        // Its card has the name of the device, and its file that of the person.
        let relay = address?.text ?? owner.relay ?? table.relay.text
        let shown = Identity(seed: seed, name: name, relay: relay, owner: owner.id)
        if uri {
            try table.pairing {
                let comparison = Comparison(digits: keys.comparison())
                try comparison.show(
                    "\(owner.name.isEmpty ? owner.id.short + "…" : owner.name) wants this machine as a device. Compare this number with the one on machine one:"
                )
                try comparison.ask()
            }
        }
        try table.send(keys.seal(shown.card(issued: .now())))
        guard let last = try table.next() else {
            throw Failure.pairing(ended: false, isHalfway: true)
        }
        if last == .end { throw Failure.pairing(ended: true, isHalfway: true) }
        let card = try keys.open(last)
        guard card.id == owner.id, card.devices?.device(shown.device) != nil else {
            throw Failure(.untrusted, "the owner's list does not name this machine")
        }
        return (Identity(seed: seed, name: owner.name, relay: relay, owner: owner.id), card)
    }

    private static func checked(_ card: Card) throws(Failure) -> Card {
        guard card.owner == nil, card.address == nil else {
            throw Failure(.untrusted, "the other machine did not send the card of a person")
        }
        return card
    }
}
