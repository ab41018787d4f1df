import Sotto
import SottoClient
import SottoContacts
import SottoState
import SottoTool
import SottoWire

/// `recv --bundle`: claims a bundle of a contact's prekeys.
///
/// The claim's id is on disk before the request: after a lost response or a crash the same claim is repeated and gets
/// the same one-time prekey.
struct BundleClaim {
    let identity: IdentityOptions
    let lockTimeout: Double
    let isKept: Bool
    /// `--relay`.
    let relay: String?
    let authorities: String?

    func run(for argument: String) throws {
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        let output = try Output(path: nil, content: .text)
        guard isKept else {
            let owner = try book.find(argument)
            let bundle = try PreKeyClaim(owner: owner.id, id: Envelope.newID())
                .run(at: address(of: owner, fallback: nil))
            try output.writeLine(bundle.record)
            try output.finish()
            return
        }
        let own = try book.identity()
        let store = try IdentityStore(
            directory: .standard(), identity: own, lockTimeout: lockTimeout)
        let owner = try book.find(argument)
        let relay = try address(of: owner, fallback: own.relay)
        let id = try store.transaction { try $0.claim(for: owner.id) }
        let bundle = try PreKeyClaim(owner: owner.id, id: id).run(at: relay)
        try store.transaction { try $0.keep(bundle) }
        try output.writeLine(bundle.record)
        try output.finish()
    }

    /// Returns the relay to ask: `--relay`, else the one on the owner's signed card, else `$SOTTO_RELAY`, else
    /// `fallback`.
    private func address(of owner: Correspondent, fallback: String?) throws -> RelayURL {
        let noted = owner.card?.record == nil ? nil : owner.card?.relay
        do {
            return try RelayChoice(relay, authorities: authorities).relay(noted: noted)
        } catch RelayAddress.Failure.missing {
            return try RelayAddress.find(nil, authorities: authorities, fallback: fallback)
        }
    }
}
