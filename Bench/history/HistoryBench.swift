import Glibc
import Sotto
import SottoState
import SottoTool
import TestHarness

/// `history-bench IDENTITY STATE MESSAGES CONVERSATIONS`: fills a state with generated messages of several conversations,
/// in the order in which they would arrive. Three messages have the word xylograph; some have reactions and edits.
@main
struct HistoryBench {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let count = Int(arguments[3]), let people = Int(arguments[4]),
            count > 0, people > 0
        else { exit(64) }
        guard case .sotto(let identity) = try IdentityFile.read(arguments[1], passphrase: nil)
        else { exit(65) }
        let store = try IdentityStore(
            directory: StateDirectory(path: arguments[2]), identity: identity, lockTimeout: 10)
        var generator = SeededGenerator(state: 1)
        let peers = (0..<people).map { _ in
            Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "").id
        }
        try store.transaction { transaction in
            for (number, peer) in peers.enumerated() {
                try transaction.save(Contact(name: "peer\(number)", id: peer, card: nil))
            }
        }
        let start: Int64 = 1_700_000_000
        let rare = Set([count / 3, count / 2, count - 2])
        var number = 0
        while number < count {
            try store.transaction { transaction in
                for _ in 0..<min(20_000, count - number) {
                    let peer = peers[Int.random(in: 0..<people, using: &generator)]
                    let isSent = Bool.random(using: &generator)
                    let text = text(&generator) + (rare.contains(number) ? " xylograph" : "")
                    try write(
                        Message.textBody(text), peer, identity.id, isSent: isSent,
                        at: Timestamp(seconds: start + Int64(number) * 30), transaction)
                    number += 1
                }
            }
        }
    }

    private static func write(
        _ body: JSONObject, _ peer: KeyID, _ owner: KeyID, isSent: Bool, at time: Timestamp,
        _ transaction: StateTransaction
    ) throws {
        let id = Envelope.newID()
        func store(_ body: JSONObject, id: String, isSent: Bool) throws {
            let message = Message(
                id: id, from: isSent ? owner : peer, to: isSent ? peer : owner, time: time,
                suite: .ratchet, authenticated: true, trust: .trusted, body: body)
            if isSent {
                try transaction.recordSent(message, at: time)
            } else {
                try transaction.recordOpened(
                    id: id, digest: randomBytes(32), message, at: time)
            }
        }
        try store(body, id: id, isSent: isSent)
        let digit = id.utf8.first
        let target = JSON.object([
            "id": .string(id), "from": .string((isSent ? owner : peer).description),
        ])
        if digit == UInt8(ascii: "0") {
            try store(
                ["type": .string("reaction"), "target": target, "emoji": .string("👍")],
                id: Envelope.newID(), isSent: !isSent)
        } else if digit == UInt8(ascii: "1") {
            try store(
                ["type": .string("edit"), "target": target, "body": .object(body)],
                id: Envelope.newID(), isSent: isSent)
        }
    }

    /// Returns a text of about 60 characters.
    private static func text(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 4..<17, using: &generator))
            .compactMap { _ in words.randomElement(using: &generator) }.joined(separator: " ")
    }

    private static let words = [
        "the", "train", "leaves", "at", "nine", "and", "we", "meet", "before", "lunch", "bring",
        "your", "book", "tomorrow", "Grüße", "aus", "Köln", "yes", "no", "maybe", "see", "you",
        "there", "photo", "of", "a", "house", "by", "river", "done",
    ]
}
