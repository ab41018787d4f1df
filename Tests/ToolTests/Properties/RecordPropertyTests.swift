import Sotto
import SottoContacts
import SottoState
import TestSupport
import Testing

/// Records of each kind, mutated before they are signed: each one that is accepted survives every path unchanged.
///
/// `make properties` runs it with 100,000 of each kind.
@Suite(.serialized) struct RecordPropertyTests {
    private let author = FuzzedPeople.author
    private let reader = FuzzedPeople.reader

    /// Tries records of a kind in groups. `make` returns one before its mutation, `seal` signs it, `survive` takes the accepted
    /// ones of a group and fails if one of them changes.
    private func check(
        _ kind: String, make: (inout Generator) throws -> JSONObject,
        seal: (inout JSONObject) -> Void = { _ in },
        accept: (JSONObject) throws -> Void,
        survive: ([JSONObject]) throws -> Void
    ) throws {
        let rounds = propertyRounds ?? 120
        try withGenerator { random in
            var mutator = RecordMutator(random)
            var (tried, accepted) = (0, 0)
            while tried < rounds {
                var group: [JSONObject] = []
                for _ in 0..<min(60, rounds - tried) {
                    tried += 1
                    var record = try mutator.mutate(make(&mutator.random))
                    seal(&record)
                    // As it arrives.
                    guard let read = try? JSON.object(parsing: record.serialized()) else {
                        continue
                    }
                    #expect(read == record, mutator.random.comment)
                    do { try accept(read) } catch { continue }
                    group.append(read)
                }
                accepted += group.count
                try survive(group)
            }
            random = mutator.random
            print("records: \(kind): \(tried) tried, \(accepted) accepted")
            #expect(accepted * 4 >= tried, "\(kind): \(accepted) of \(tried)")
        }
    }

    /// Returns a value that was written and read.
    private func again(_ value: JSONObject) throws -> JSONObject {
        try JSON.object(parsing: value.serialized())
    }

    private func store(_ scratch: TemporaryDirectory) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: reader, lockTimeout: 5,
            report: { Issue.record("\($0)") })
    }

    /// Sends a body in a message, and returns it as the reader has it after the history.
    private func arrived(_ bodies: [JSONObject], in store: IdentityStore) throws -> [JSONObject] {
        let messages = try bodies.map { body in
            let envelope = try Sealed.seal(
                body: body, from: author, to: reader.card(), classic: true, time: .now())
            let record = try again(envelope.record)
            let message = try Sealed.open(Envelope(record: record), with: reader)
            try message.checkForm()
            return message
        }
        let numbers = try store.transaction { transaction in
            try messages.map {
                try transaction.recordOpened(id: $0.id, digest: sha256(Array($0.id.utf8)), $0)
            }
        }
        return try zip(messages, numbers).map { message, number in
            let entry = try #require(try store.historyEntry(number: number))
            #expect(entry.record["body"] == .object(message.body))
            let rows = try store.backupRows(after: number - 1, limit: 1)
            guard case .message(let saved, _)? = rows.first?.row else {
                Issue.record("the backup has no message")
                return message.body
            }
            #expect(try again(saved.record) == entry.record)
            return try #require(saved.record["body"]?.object)
        }
    }

    @Test func cards() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        try check(
            "card",
            make: { _ in try #require(author.card(relay: "tcp://relay.example.org:1").record) },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try Card(record: $0) }
        ) { records in
            for record in records {
                let card = try Card(record: record)
                var contact = Contact(name: "author", id: card.id, card: card)
                contact.changed = card
                try store.transaction { try $0.save(contact) }
                #expect(try store.contact(id: card.id)?.card?.record == record)
                // The line of a backup, and its restoration.
                #expect(try Contact(record: again(contact.record)) == contact)
            }
            try inFile(records) { $0.cards.compactMap(\.record) }
            var body = GroupBody(GroupID(randomBytes(32)))
            body.cards = Array(records.prefix(1))
            let read = try arrived([body.record], in: store).map { try GroupBody($0) }
            #expect(read[0].cards == body.cards)
        }
    }

    @Test func listsOfDevices() throws {
        let identity = Identity(
            seed: SecretBytes(copying: sha256(Array("device".utf8))), name: "laptop",
            owner: author.id)
        let device = DeviceList.Device(
            card: identity.card(), name: "laptop", added: .now(), state: .new)
        try check(
            "devices", make: { _ in try DeviceList([device], after: 0, by: author).record },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try DeviceList(record: $0) }
        ) { records in
            for record in records {
                let list = try DeviceList(record: record)
                #expect(try DeviceList(record: again(record)) == list)
                #expect(list.devices.count <= DeviceList.mostDevices)
                #expect(list.devices.allSatisfy { $0.card.owner == list.owner })
            }
        }
    }

    /// Writes records to a file of changes, and compares those that are read from it.
    private func inFile(
        _ records: [JSONObject],
        _ read: ((changes: [GroupChange], cards: [Card])) throws -> [JSONObject]
    ) throws {
        let lines = [UInt8](records.map { $0.serialized() + [10] }.joined())
        guard !lines.isEmpty else { return }
        let (file, blob) = try GroupFile.seal(
            lines, heads: [], key: randomBytes(32), nonce: randomBytes(16))
        let found = try read(file.records(in: MemorySource(blob)))
        #expect(found.map { $0.sorted() } == records.map { $0.sorted() })
    }

    @Test func changes() throws {
        let scratches = (TemporaryDirectory(), TemporaryDirectory())
        let (store, other) = (try store(scratches.0), try store(scratches.1))
        try check(
            "change",
            make: { random in
                let policy = GroupPolicy(
                    visibility: [.joined, .global].randomElement(using: &random)!)
                let change = try GroupChange(
                    .create(nonce: random.bytes(32), policy), in: nil, by: author.signingKey,
                    seq: 1,
                    parents: [])
                return try JSON.object(parsing: change.bytes)
            },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try GroupChange($0) }
        ) { records in
            let changes = try records.map { try GroupChange($0) }
            for (change, record) in zip(changes, records) {
                #expect(try GroupChange(stored: change.bytes).bytes == change.bytes)
                #expect(try JSON.object(parsing: change.bytes) == record.sorted())
            }
            try inFile(records) { try $0.changes.map { try JSON.object(parsing: $0.bytes) } }
            try store.transaction { transaction in
                for change in changes {
                    _ = try transaction.receive([change], of: change.id, from: author.id)
                }
            }
            // The state, a backup, its restoration, and what is forwarded to others.
            var backups: [GroupBackup] = []
            #expect(try store.backUpGroups { backups.append($0) }.isEmpty)
            #expect(backups.map { $0.changes[0].bytes } == changes.map(\.bytes))
            try other.transaction { transaction in
                for backup in backups { _ = try transaction.restore(backup) }
            }
            for change in changes {
                let group = try #require(try other.preview { try $0.group(change.id) })
                #expect(group.log.changes.map(\.bytes) == [change.bytes])
                let bodies = StateTransaction.bodies(of: group.id, group.log.changes, cards: [])
                let read = try MessageBody(again(bodies[0].record)).extra
                #expect(read["changes"]?.array?.count == 1)
                let sent = try GroupBody(again(bodies[0].record))
                #expect(try GroupChange(sent.changes[0]).id == change.id)
            }
            for store in [store, other] {
                try store.transaction { transaction in
                    for change in changes {
                        if let group = try transaction.group(change.id) {
                            try transaction.forget(group)
                        }
                    }
                }
            }
        }
    }

    @Test func rooms() throws {
        let keys = RoomKeys(FuzzedPeople.door, relay: "tcp://a:1")
        let seed = try Fields<FieldError>(keys.object)["publisher"].secret(count: 32)
        let publisher = SigningKey(seed: seed)
        let base = keys.record(.closed, seq: 1)
        try check(
            "room", make: { _ in base }, seal: { SignedRecord.sign(&$0, with: publisher) },
            accept: { _ = try RoomRecord(record: $0) }
        ) { records in
            for record in records {
                let copy = try RoomRecord(record: again(record)).record
                #expect(copy == record)
                #expect(
                    try JSON.object(parsing: JSON.object(record).canonical()) == record.sorted())
            }
        }
    }

    @Test func roomContents() throws {
        let change = try GroupChange(
            .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: author.signingKey, seq: 1,
            parents: [])
        let log = try #require(GroupLog(change))
        let content = try RoomContent(log, door: FuzzedPeople.door.id, cards: [author.card()])
        let base = try JSON.object(parsing: content.bytes)
        try check(
            "room-content", make: { _ in base }, accept: { _ = try RoomContent($0.serialized()) }
        ) { records in
            for record in records {
                let read = try RoomContent(record.serialized())
                let copy = try RoomContent(read.bytes)
                #expect(copy.changes == read.changes && copy.cards == read.cards)
            }
        }
    }

    @Test func preKeys() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        let owner = SecretPreKey(.signed, id: 1)
        let publication = PreKeyPublication(
            by: author, signedPreKey: owner.signed(by: author, at: .now()), pqSignedPreKey: nil,
            oneTimePreKeys: [SecretPreKey(.oneTime, id: 2).publicHalf])
        try check(
            "prekeys", make: { _ in publication.record },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try PreKeyPublication(record: $0) }
        ) { records in
            for record in records {
                let copy = try PreKeyPublication(record: again(record)).record
                #expect(copy == record)
            }
        }
        let bundle = try publication.bundle(oneTime: nil)
        try check(
            "bundle", make: { _ in bundle.record }, accept: { _ = try PreKeyBundle(record: $0) }
        ) { records in
            for record in records {
                let read = try PreKeyBundle(record: record)
                try store.transaction { try $0.keep(read) }
                #expect(try store.preview { try $0.bundle(of: read.owner) } == read)
            }
        }
    }

    @Test func loginKeys() throws {
        let base = LoginKeyRecord(nil, of: author, issued: .now()).record
        try check(
            "login-key", make: { _ in base },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try LoginKeyRecord(record: $0) }
        ) { records in
            for record in records {
                let copy = try LoginKeyRecord(record: again(record)).record
                #expect(copy == record)
            }
        }
    }

    @Test func revocations() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        let base = Revocation(of: author, issued: .now()).record
        try check(
            "revocation", make: { _ in base },
            seal: { SignedRecord.sign(&$0, with: author.signingKey) },
            accept: { _ = try Revocation(record: $0) }
        ) { records in
            for record in records {
                let revocation = try Revocation(record: again(record))
                #expect(revocation.record == record)
                try store.transaction { transaction in
                    _ = try transaction.take(.revocation(revocation), isGiven: true)
                    #expect(try transaction.isRevoked(revocation.id))
                }
            }
        }
    }

    @Test func successions() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        let heir = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "heir")
        let base = Succession(of: author, by: heir, issued: .now()).record
        try check(
            "succession", make: { _ in base },
            seal: { record in
                if var card = record["card"]?.object {
                    SignedRecord.sign(&card, with: heir.signingKey)
                    record["card"] = .object(card)
                }
                Succession.sign(&record, old: author.signingKey, new: heir.signingKey)
            }, accept: { _ = try Succession(record: $0) }
        ) { records in
            for record in records {
                let succession = try Succession(record: again(record))
                #expect(succession.record == record)
                // Each in a state without another one, because the first one counts.
                try store.preview { transaction in
                    try transaction.save(
                        Contact(name: "author", id: author.id, card: author.card()))
                    _ = try transaction.take(.succession(succession))
                    #expect(try transaction.news(of: author.id).successions == [succession])
                    let contact = try #require(try transaction.contact(id: author.id))
                    #expect(contact.changed == succession.card)
                    #expect(try Contact(record: again(contact.record)) == contact)
                }
            }
        }
    }

    @Test func envelopes() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        try check(
            "envelope",
            make: { random in
                Envelope(
                    id: Envelope.newID(), suite: .sealed, to: reader.id, time: .now(),
                    payload: ["age": .base64(random.bytes(40))]
                ).record
            }, accept: { _ = try Envelope(record: $0) }
        ) { records in
            let envelopes = try records.map { try Envelope(record: $0) }
            for envelope in envelopes {
                let copy = try Envelope(record: again(envelope.record))
                #expect(copy == envelope && copy.digest == envelope.digest)
            }
            // A message request, and the inbox.
            let sender = Sample.identity().id
            try store.transaction { transaction in
                for envelope in envelopes {
                    let bytes = envelope.record.serialized()
                    let isStored = try transaction.request(bytes, id: envelope.id, from: sender)
                    #expect(isStored)
                }
            }
            let waiting = try store.requestedEnvelopes(from: sender).map {
                try Envelope(record: JSON.object(parsing: $0))
            }
            #expect(waiting == envelopes)
            _ = try store.transaction { try $0.forgetRequests(from: sender) }
        }
    }

    @Test func profiles() throws {
        let scratches = (TemporaryDirectory(), TemporaryDirectory())
        let (store, other) = (try store(scratches.0), try store(scratches.1))
        let contact = Contact(name: "author", id: author.id, card: author.card())
        for store in [store, other] { try store.transaction { try $0.save(contact) } }
        let picture = Sample.jpeg(width: 320, height: 240)
        var second: Int64 = 1_795_000_000
        try check(
            "profile",
            make: { _ in
                second += 1
                return [
                    "type": .string("profile"), "name": .string("Author"),
                    "about": .string("at sea"), "avatar": .base64(picture),
                    "phone": .string("+420 123 456 789"), "location": .string("Brno"),
                    "issued": .string(Timestamp(seconds: second).description),
                ]
            }, accept: { _ = try MessageBody($0) }
        ) { records in
            // Those that fit into an envelope.
            for record in records where record.serialized().count < 30_000 {
                guard case .profile(let profile) = try MessageBody(record).kind else { continue }
                let before = try store.profile(of: author.id)
                #expect(try arrived([record], in: store) == [record])
                let kept = try #require(try store.profile(of: author.id))
                // Only a later one replaces the profile, whatever its parts are.
                #expect(kept.issued == max(before?.issued ?? profile.issued, profile.issued))
                if kept.issued != before?.issued {
                    #expect(kept.changes(since: profile).allSatisfy { $0 == .avatar })
                    #expect(kept.avatar == nil || kept.avatar == picture)
                }
                // The record of a backup, its restoration, and what people see.
                let line = try again(ProfileRecord(id: author.id, kept).record)
                let restored = try ProfileRecord(line).profile
                #expect(restored == kept)
                try other.transaction { transaction in
                    let known = try transaction.profile(of: author.id)
                    let isLater = known.map { $0.issued < restored.issued } ?? true
                    #expect(try (transaction.keep(restored, of: author.id) != nil) == isLater)
                }
                #expect(try other.profile(of: author.id) == kept)
                let shown = kept.rows.flatMap { $0 } + kept.aboutLines
                #expect(shown.allSatisfy { !$0.contains("\n") && $0.unicodeScalars.count < 1_200 })
            }
        }
    }

    @Test func bodies() throws {
        let scratch = TemporaryDirectory()
        let store = try store(scratch)
        try check(
            "body",
            make: { random in
                [
                    "type": .string(["text", "new"].randomElement(using: &random)!),
                    "text": .string("hello"),
                ]
            }, accept: { _ = try MessageBody($0) }
        ) { records in
            for record in records {
                #expect(try MessageBody(again(record)).record.sorted() == record.sorted())
            }
            // Those that fit into an envelope.
            let short = records.filter { $0.serialized().count < 30_000 }
            #expect(try arrived(short, in: store) == short)
            // What is shown to a newcomer of a group.
            let fitting = short.filter {
                JSON.object($0).nests(atMost: RecordForm.earlierBody.depth)
            }
            for record in fitting {
                var body = GroupBody(GroupID(randomBytes(32)))
                body.history = [["body": .object(record)]]
                _ = try MessageBody(again(body.record))
                #expect(try GroupBody(again(body.record)).history == body.history)
            }
        }
    }
}

/// The people of the records.
private enum FuzzedPeople {
    static let author = Sample.identity()
    static let reader = Sample.identity()
    static let door = Sample.door()
}
