import Sotto
import SottoState

/// Makes a group with many members.
struct Members {
    private let store: IdentityStore
    private let identity: Identity
    /// The people of one transaction.
    private static let batch = GroupChange.mostMembers

    init(_ store: IdentityStore, _ identity: Identity) {
        (self.store, self.identity) = (store, identity)
    }

    /// Makes the group. Each member joins with a signed change that is taken like a received message, as the only one after the
    /// changes before it.
    func make(_ count: Int) throws {
        let group = try store.transaction {
            try $0.createGroup(GroupPolicy(), [.name("team")])
        }.id
        var made = 0
        var taking = 0.0
        while made < count {
            let people = (made..<min(made + Self.batch, count)).map {
                Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "member \($0)")
            }
            made += people.count
            try invite(people, to: group)
            taking += try seconds {
                for person in people { try join(person, group) }
            }
        }
        show([
            ("members", .integer(Int64(count))),
            ("joins", .integer(Int64(Double(count) / taking))),
        ])
    }

    private func invite(_ people: [Identity], to id: GroupID) throws {
        try store.transaction { transaction in
            guard let group = try transaction.group(id) else { throw GroupError.unknown }
            for person in people { try transaction.note(person.card(), in: group) }
            _ = try transaction.write(.invite(people.map(\.id), .member), in: group)
        }
    }

    /// Takes the join of a member, and begins a post-quantum session with the member.
    private func join(_ person: Identity, _ id: GroupID) throws {
        try store.transaction { transaction in
            guard let group = try transaction.group(id), let card = person.card().record else {
                throw GroupError.unknown
            }
            let entry = GroupChange.Entry(card: sha256(JSON.object(card).canonical()))
            let change = try GroupChange(
                .join(entry), in: id, by: person.signingKey, seq: 1, parents: group.log.heads)
            var body = GroupBody(id)
            body.changes = [try JSON.object(parsing: change.bytes)]
            body.cards = [card]
            _ = try transaction.take(body, from: person.id)
            _ = try transaction.begin(
                with: try PreKeyBundle(
                    identityKey: person.id.publicKey,
                    signedPreKey: SecretPreKey(.signed, id: 1).signed(by: person, at: .now()),
                    pqSignedPreKey: SecretPreKey(.postQuantum, id: 2).signed(
                        by: person, at: .now()),
                    oneTimePreKey: nil))
        }
    }
}

/// Makes groups of one member, in one transaction.
func makeGroups(_ count: Int, _ store: IdentityStore) throws {
    try store.transaction { transaction in
        for number in 1...count {
            _ = try transaction.createGroup(GroupPolicy(), [.name("team\(number)")])
        }
    }
}

/// Makes a group with a long log.
struct LongLog {
    private let store: IdentityStore
    /// The other members, who join, set their names, and get ranks.
    private static let members = 50

    init(_ store: IdentityStore) { self.store = store }

    /// Makes the log: an invitation, joins, and then by turns a new nickname of a member, a new rank, and a new description. Every
    /// tenth change is concurrent with the one before it.
    func make(_ count: Int) throws {
        let people = (0..<Self.members).map { _ in SigningKey(seed: SecretBytes(randomCount: 32)) }
        let owner = store.owner.signingKey
        var writer = LogWriter(owner)
        try writer.write(.create(nonce: randomBytes(32), GroupPolicy()), by: owner)
        try writer.write(.set(.name("log")), by: owner)
        try writer.write(
            .invite(people.map { KeyID(publicKey: $0.publicKey) }, .member), by: owner)
        for person in people {
            try writer.write(.join(GroupChange.Entry(card: randomBytes(32))), by: person)
        }
        while writer.changes.count < count {
            let number = writer.changes.count
            let person = people[number % people.count]
            switch number % 3 {
            case 0: try writer.write(.set(.nickname("name \(number)")), by: person)
            case 1:
                try writer.write(
                    .role(
                        KeyID(publicKey: person.publicKey),
                        number % 2 == 0 ? .moderator : .member),
                    by: owner)
            default: try writer.write(.set(.about("text \(number)")), by: owner)
            }
        }
        let changes = Array(writer.changes.prefix(count))
        let taking = try store.transaction { transaction in
            try seconds { _ = try transaction.receive(changes, of: changes[0].id) }
        }
        show([
            ("changes", .integer(Int64(count))), ("stored", .integer(Int64(taking * 1000))),
        ])
    }
}

/// Signs the changes of a log.
private struct LogWriter {
    private(set) var changes: [GroupChange] = []
    private var numbers: [KeyID: Int64] = [:]
    private var heads: [GroupID] = []
    private let owner: SigningKey

    init(_ owner: SigningKey) { self.owner = owner }

    /// Adds a change after all heads.
    mutating func write(_ act: GroupChange.Act, by key: SigningKey) throws {
        let author = KeyID(publicKey: key.publicKey)
        numbers[author, default: 0] += 1
        let change = try GroupChange(
            act, in: changes.first?.id, by: key, seq: numbers[author] ?? 1, parents: heads)
        changes.append(change)
        heads = [change.id]
    }
}
