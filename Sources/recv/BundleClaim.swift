import Sotto
import SottoClient
import SottoContacts
import SottoState
import SottoTool
import SottoWire

/// `recv --bundle`: claims a bundle of somebody's prekeys.
///
/// The claim's id is on disk before the relay is asked: after a lost reply or a crash the same claim is made again, and
/// gets the same one-time prekey.
struct BundleClaim {
    let identity: IdentityOptions
    let lockTimeout: Double
    let isKept: Bool

    func run(for argument: String, at relay: RelayURL) throws {
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        let output = try Output(path: nil, content: .text)
        guard isKept else {
            let owner = try book.find(argument).id
            let bundle = try PreKeyClaim(owner: owner, id: Envelope.newID()).run(at: relay)
            try output.writeLine(bundle.record)
            try output.finish()
            return
        }
        let store = try IdentityStore(
            directory: .standard(), identity: book.identity(), lockTimeout: lockTimeout)
        let owner = try book.find(argument).id
        let id = try store.transaction { try $0.claim(for: owner) }
        let bundle = try PreKeyClaim(owner: owner, id: id).run(at: relay)
        try store.transaction { try $0.keep(bundle) }
        try output.writeLine(bundle.record)
        try output.finish()
    }
}
