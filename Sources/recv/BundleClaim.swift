import Sotto
import SottoClient
import SottoContacts
import SottoMessages
import SottoState
import SottoTool
import SottoWire

/// `recv --bundle`: claims a bundle of a contact's prekeys.
///
/// The claim's id is on disk before the request: after a lost response or a crash the same claim is repeated and gets
/// the same one-time prekey.
struct BundleClaim {
    /// A card or the name of a contact.
    let owner: String
    let identity: IdentityChoice
    let lockTimeout: Double
    /// Whether the bundle is stored for `encrypt`.
    let isKept: Bool
    let relay: AskedRelay

    func run() throws {
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        let output = try Output(path: nil, content: .text)
        guard isKept else {
            let person = try book.find(owner, for: .reading)
            let bundle = try PreKeyClaim(
                owner: person.id, id: Envelope.newID(), address: person.card?.address
            )
            .run(at: address(of: person, fallback: nil))
            try output.writeLine(bundle.record)
            try output.finish()
            return
        }
        let own = try book.identity()
        let store = try IdentityStore(
            directory: .standard(), identity: own, lockTimeout: lockTimeout,
            report: Terminal.note)
        let person = try book.find(owner, for: .reading)
        let relay = try address(of: person, fallback: own.relay)
        let id = try store.transaction { try $0.claim(for: person.id) }
        let bundle = try PreKeyClaim(owner: person.id, id: id, address: person.card?.address)
            .run(at: relay)
        if try !store.transaction({ try $0.keep(bundle) }) {
            Terminal.say(Self.note(person.id, relay.description))
        }
        try output.writeLine(bundle.record)
        try output.finish()
    }

    /// Returns the note about a bundle that is not kept.
    static func note(_ owner: KeyID, _ relay: String) -> String {
        "recv: note: the prekeys of \(owner) at \(relay) have no signature over both prekeys, and earlier ones had it; they are not kept"
    }

    /// Returns the relay to ask: `--relay`, else the one on the owner's signed card, else `$SOTTO_RELAY`, else
    /// `fallback`.
    private func address(of person: Correspondent, fallback: String?) throws -> RelayURL {
        let noted = person.card?.record == nil ? nil : person.card?.relay
        do {
            return try RelayChoice(relay.url, authorities: relay.authorities).relay(noted: noted)
        } catch RelayAddressError.missing {
            return try relay.find(fallback: fallback)
        }
    }
}
