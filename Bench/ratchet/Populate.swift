import Glibc
import Sotto
import SottoState

/// `ratchet-bench populate IDENTITY STATE COUNT CARD BUNDLE`: fills a state with COUNT contacts and sessions, one of
/// them CARD's with the name bob, to measure the cost of a message in a large state.
enum Populate {
    static func run(_ arguments: [String]) throws {
        let identity = try Identity(record: JSON.object(parsing: try contents(arguments[0])))
        let store = try IdentityStore(
            directory: StateDirectory(path: arguments[1]), identity: identity, lockTimeout: 10)
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

    private static func contents(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { exit(66) }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }
}
