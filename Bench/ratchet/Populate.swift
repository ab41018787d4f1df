import Glibc
import Sotto
import SottoState

/// `ratchet-bench populate IDENTITY STATE COUNT CARD BUNDLE`: fills a state with COUNT contacts and sessions, one of
/// them CARD's with the name bob, to measure the cost of a message in a large state.
///
/// `ratchet-bench bundles IDENTITY STATE COUNT`: fills a state with the contacts new1 to newCOUNT, to measure the first messages.
enum Populate {
    static func run(_ arguments: [String]) throws {
        let store = try store(arguments)
        let card = try Card(record: JSON.object(parsing: try contents(arguments[3])))
        let bundle = try PreKeyBundle(record: JSON.object(parsing: try contents(arguments[4])))
        try store.transaction { transaction in
            try transaction.save(Contact(name: "bob", id: card.id, card: card))
            _ = try transaction.begin(with: bundle)
            for number in 1..<max(1, Int(arguments[2]) ?? 1) {
                let peer = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "p\(number)")
                let signed = SecretPreKey(.signed, id: 1).signed(by: peer, at: .now())
                try transaction.save(
                    Contact(name: "peer \(number)", id: peer.id, card: peer.card()))
                _ = try transaction.begin(
                    with: try PreKeyBundle(
                        identityKey: peer.id.publicKey, signedPreKey: signed, pqSignedPreKey: nil,
                        oneTimePreKey: nil))
            }
        }
    }

    /// Fills a state with contacts, and a bundle of each with which no session began.
    static func keepBundles(_ arguments: [String]) throws {
        let store = try store(arguments)
        try store.transaction { transaction in
            for number in 1...max(1, Int(arguments[2]) ?? 1) {
                let peer = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "p\(number)")
                let publication = PreKeyPublication(
                    by: peer,
                    signedPreKey: SecretPreKey(.signed, id: 1).signed(by: peer, at: .now()),
                    pqSignedPreKey: SecretPreKey(.postQuantum, id: 2).signed(by: peer, at: .now()),
                    oneTimePreKeys: [])
                try transaction.save(
                    Contact(name: "new\(number)", id: peer.id, card: peer.card()))
                try transaction.keep(
                    publication.bundle(oneTime: SecretPreKey(.oneTime, id: 3).publicHalf))
            }
        }
    }

    private static func store(_ arguments: [String]) throws -> IdentityStore {
        let identity = try Identity(record: JSON.object(parsing: try contents(arguments[0])))
        return try IdentityStore(
            directory: StateDirectory(path: arguments[1]), identity: identity, lockTimeout: 10)
    }

    private static func contents(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { exit(66) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }
}
