import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoProgram
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer
@testable import relay

/// Behaviour that only a server has: several relays, lost connections, wrong settings.
@Suite(.needs(.postgres), .timeLimit(.minutes(60))) struct PostgresTests {
    let bob = Sample.identity()

    func everything(_ store: any Store, of mailbox: KeyID) throws -> [String] {
        var ids: [String] = []
        var last: Int64 = 0
        while true {
            let page = try store.messages(in: mailbox, after: last, limit: 100, dead: false, at: 1)
            ids += page.messages.map(\.id)
            guard page.hasMore, let end = page.messages.last else { return ids }
            last = end.delivered.sequence
        }
    }

    @Test func theSQLFileIsTheSchema() {
        let file = PostgresCluster.schema
        let isTheSame = PostgresSchema.scripts.joined() == file.replacing("\n\n", with: "\n")
        #expect(isTheSame)
        // The number in the file belongs to its text.
        let number = PostgresSchema.number(of: PostgresSchema.scripts)
        #expect(
            file.contains("\n    INSERT INTO sotto.schema_version SELECT \(number) EXCEPT "),
            "the number must be \(number)")
    }

    @Test func aNewDatabaseIsSetUpOnceByManyRelays() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let failures = Mutex<[StoreError]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do throws(StoreError) {
                try PostgresStore(url: url, retention: Retention()).close()
            } catch { failures.withLock { $0.append(error) } }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test func aNewerSchemaIsNotTouched() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let url = cluster.url(database)
        try PostgresStore(url: url, retention: Retention()).close()
        cluster.sql("UPDATE sotto.schema_version SET version = \(99 << 24)", in: database)
        #expect(throws: StoreError.newerVersion(name: try PostgresLocation(url: url).name)) {
            try PostgresStore(url: url, retention: Retention())
        }
    }

    /// A later version of the schema changes the tables, and keeps what is in them.
    @Test func aSchemaIsMigratedToALaterVersion() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let url = cluster.url(database)
        let store = try PostgresStore(url: url, retention: Retention())
        let envelope = Sample.envelope(to: bob.id)
        #expect(try store.commit([.store(envelope)], at: 1) == [.stored])
        let location = try PostgresLocation(url: url)
        let later =
            PostgresSchema.scripts + [
                "-- Version 2: flags.\nALTER TABLE sotto.room ADD COLUMN IF NOT EXISTS flag bigint;"
            ]
        for _ in 0..<2 {
            try PostgresCheck(
                session: PostgresSession(location), location: location, scripts: later
            ).run()
        }
        #expect(
            cluster.sql("SELECT * FROM sotto.schema_version()", in: database)
                == ["\(PostgresSchema.number(of: later))"])
        #expect(cluster.sql("SELECT count(flag) FROM sotto.room", in: database) == ["0"])
        #expect(try everything(store, of: bob.id) == [envelope.id])
        try store.close()
    }

    /// Builds before the first release had a schema of the same name, whose version another function returned.
    @Test func theSchemaOfAnUnreleasedBuildIsNotTouched() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        cluster.sql(
            """
            CREATE SCHEMA sotto;
            CREATE FUNCTION sotto.version() RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 7::bigint';
            """, in: database)
        let url = cluster.url(database)
        let name = try PostgresLocation(url: url).name
        #expect(throws: StoreError.database(.otherFormat(path: name))) {
            try PostgresStore(url: url, retention: Retention())
        }
        #expect(
            cluster.sql(
                "SELECT count(*) FROM pg_class WHERE relnamespace = 'sotto'::regnamespace",
                in: database)
                == ["0"])
        #expect(StoreError.database(.otherFormat(path: name)).failure.status == .configuration)
    }

    /// Later builds before the first release counted from 1, or had this version with another text.
    @Test(arguments: [1, 1 << 24 | 7]) func anotherSchemaOfThisVersionIsNotTouched(
        _ number: Int
    ) throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let url = cluster.url(database)
        try PostgresStore(url: url, retention: Retention()).close()
        cluster.sql(
            """
            UPDATE sotto.schema_version SET version = \(number);
            ALTER TABLE sotto.room DROP COLUMN seq;
            """, in: database)
        let name = try PostgresLocation(url: url).name
        #expect(throws: StoreError.database(.otherFormat(path: name))) {
            try PostgresStore(url: url, retention: Retention())
        }
        // The file refuses it too.
        let psql = try #require(PostgresCluster.programs) + "/psql"
        let scratch = TemporaryDirectory()
        let arguments = [
            "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", cluster.path, "-U", "postgres", "-d",
            database, "-f", scratch.write("sotto.sql", Array(PostgresCluster.schema.utf8)),
        ]
        #expect(ChildProcess.run(psql, arguments, errors: scratch("errors")) == 3)
        #expect(
            scratch.lines("errors").contains { $0.contains("no released sotto made the schema") })
        #expect(
            cluster.sql("SELECT version FROM sotto.schema_version", in: database) == ["\(number)"])
        #expect(
            cluster.sql(
                """
                SELECT count(*) FROM pg_attribute
                WHERE attrelid = 'sotto.room'::regclass AND attname = 'seq'
                """, in: database) == ["0"])
    }

    @Test(arguments: ["off", "local"]) func anUnsafeCommitSettingIsRefused(_ value: String)
        throws
    {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database()) + "&options=-csynchronous_commit%3D\(value)"
        #expect(
            throws: StoreError.serverUnsafe(
                server: try PostgresLocation(url: url).name, setting: "synchronous_commit",
                value: value, needed: "on")
        ) { try PostgresStore(url: url, retention: Retention()) }
    }

    @Test(arguments: ["fsync", "full_page_writes"])
    func anUnsafeServerSettingIsRefused(_ setting: String) throws {
        let cluster = try #require(PostgresCluster(settings: ["\(setting)=off"]))
        let url = cluster.url("postgres")
        #expect(
            throws: StoreError.serverUnsafe(
                server: try PostgresLocation(url: url).name, setting: setting, value: "off",
                needed: "on")
        ) { try PostgresStore(url: url, retention: Retention()) }
    }

    /// The server compiles costly plans, and takes longer for that than for the commit.
    @Test func noPlanIsCompiled() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let connection = try PostgresConnection(try PostgresLocation(url: url))
        #expect(try connection.rows(PostgresQuery("SHOW jit")).text(0, 0) == "off")
    }

    @Test func passwordsAreNeverPrinted() throws {
        let cluster = try #require(PostgresCluster.shared)
        let urls = [
            "postgresql:///postgres?host=\(cluster.path)&user=nobody&password=opensesame",
            "postgresql://nobody:opensesame@/postgres?host=\(cluster.path)",
            "postgresql://a:opensesame@b/c?nonsense=opensesame", "postgres://a:opensesame@[b/c",
        ]
        for url in urls {
            #expect(!StoreLocation(url).name.contains("opensesame"))
            do throws(StoreError) {
                _ = try PostgresStore(url: url, retention: Retention())
                Issue.record("\(url) was opened")
            } catch {
                #expect(!"\(error) \(error.failure)".contains("opensesame"))
                #expect(
                    error == .badServerURL
                        ? error.failure.status == .usage : error.failure.status == .permission)
            }
        }
    }

    @Test func lostConnectionsLoseAndRepeatNothing() throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let store = try PostgresStore(url: cluster.url(database), retention: Retention())
        let batches = (0..<150).map { _ in (0..<10).map { _ in Sample.envelope(to: bob.id) } }
        let cuts = DispatchSemaphore(value: 0)
        let cutter = DispatchGroup()
        DispatchQueue(label: "cutter").async(group: cutter) {
            for _ in 0..<batches.count / 5 {
                cuts.wait()
                cluster.sql(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = '\(database)' AND application_name = 'sotto-relay'
                    """)
            }
        }
        for (number, batch) in batches.enumerated() {
            // The connection is cut at any moment of the following batches.
            if number % 5 == 0 { cuts.signal() }
            let outcomes = try store.commit(batch.map { .store($0) }, at: 1)
            #expect(outcomes.allSatisfy { $0 == .stored || $0 == .duplicate })
        }
        cutter.wait()
        #expect(try everything(store, of: bob.id) == batches.flatMap { $0 }.map(\.id))
    }

    /// A server that closed a connection while it was idle answers on a new one, whatever is written first.
    @Test(arguments: [10, 60_000, 1_000_000])
    func aConnectionThatWasClosedIsReplaced(_ size: Int) throws {
        let cluster = try #require(PostgresCluster.shared)
        let database = cluster.database()
        let store = try PostgresStore(url: cluster.url(database), retention: Retention())
        let blobs = try #require(try store.openBlobs(BlobLimits()))
        let mine = "datname = '\(database)' AND application_name = 'sotto-relay'"
        for _ in 0..<5 {
            let bytes = randomBytes(size)
            let piece = BlobPiece(
                id: randomBytes(32), to: bob.id, size: Int64(size), digest: sha256(bytes),
                deletion: nil)
            cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(mine)")
            while cluster.sql("SELECT count(*) FROM pg_stat_activity WHERE \(mine)") != ["0"] {}
            let outcome = try blobs.put(
                bytes, at: 0, of: sha256(piece.id), BlobHeader(piece, until: 1_000_000))
            #expect(outcome == .state(BlobState(size: Int64(size), have: Int64(size))))
            #expect(try store.commit([.store(Sample.envelope(to: bob.id))], at: 1) == [.stored])
        }
    }

    /// A number becomes visible together with its envelope: a reader that continues after the last one misses none.
    @Test func aReaderMissesNothingFromSeveralWriters() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let stores = try (0..<4).map { _ in try PostgresStore(url: url, retention: Retention()) }
        let reader = try PostgresStore(url: url, retention: Retention())
        let writers = DispatchGroup()
        for store in stores {
            DispatchQueue.global().async(group: writers) {
                for _ in 0..<50 {
                    let batch = (0..<5).map { _ in Change.store(Sample.envelope(to: bob.id)) }
                    #expect((try? store.commit(batch, at: 1))?.allSatisfy { $0 == .stored } == true)
                }
            }
        }
        var last: Int64 = 0
        var count = 0
        var isLast = false
        while !isLast {
            isLast = writers.wait(timeout: .now()) == .success
            let page = try reader.messages(in: bob.id, after: last, limit: 100, dead: false, at: 1)
            count += page.messages.count
            last = page.messages.last?.delivered.sequence ?? last
            if page.hasMore { isLast = false }
        }
        #expect(count == 4 * 50 * 5)
        #expect(last == Int64(count))
    }

    /// Commits that use the same mailboxes and owners in all orders do not deadlock.
    @Test func commitsInAllOrdersDoNotDeadlock() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let people = (0..<6).map { _ in Sample.identity() }
        let stores = try (0..<4).map { _ in try PostgresStore(url: url, retention: Retention()) }
        let stored = Atomic(0)
        let removed = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 4) { number in
            var generator = SeededGenerator(state: UInt64(number))
            for round in 0..<25 {
                var batch: [Change] = []
                for person in people.shuffled(using: &generator) {
                    let envelope = Sample.envelope(to: person.id)
                    let publication = Sample.preKeys(
                        of: person, signed: UInt32(round + 1), oneTime: 1..<3)
                    batch += [
                        .store(envelope), .acknowledge(person.id, ids: [envelope.id], .failed),
                        .publish(publication, head: publication.bundleHead ?? []),
                        .claim(owner: person.id, id: Envelope.newID()),
                        .acknowledge(person.id, ids: [envelope.id], .delivered),
                        .store(envelope),
                    ]
                }
                for outcome in (try? stores[number].commit(batch, at: 1)) ?? [] {
                    if outcome == .stored { stored.add(1, ordering: .relaxed) }
                    if outcome == .acknowledged(removed: 1) { removed.add(1, ordering: .relaxed) }
                }
            }
        }
        #expect(stored.load(ordering: .relaxed) == 4 * 25 * 6)
        #expect(removed.load(ordering: .relaxed) == 4 * 25 * 6)
    }

    @Test func manyClaimantsAtSeveralRelaysGetEachKeyOnce() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let stores = try (0..<2).map { _ in try PostgresStore(url: url, retention: Retention()) }
        let bob = bob
        let keys = 500
        let shelf = 100
        let claims = Mutex<[String: [UInt8]]>([:])
        for start in stride(from: 0, to: keys, by: shelf) {
            let publication = Sample.preKeys(
                of: bob, signed: UInt32(start + 1),
                oneTime: UInt32(start + 1)..<UInt32(start + shelf + 1))
            let change = Change.publish(publication, head: publication.bundleHead ?? [])
            #expect(try stores[0].commit([change], at: 1) == [.published])
            let tickets = Atomic(0)
            let claimants = DispatchGroup()
            for number in 0..<32 {
                DispatchQueue(label: "claimant").async(group: claimants) {
                    while tickets.add(1, ordering: .relaxed).newValue <= shelf {
                        let id = Envelope.newID()
                        let claim = Change.claim(owner: bob.id, id: id)
                        let first = try? stores[number % 2].commit([claim], at: 1)
                        // The other relay gives the same answer.
                        #expect((try? stores[1 - number % 2].commit([claim], at: 1)) == first)
                        guard case .bundle(let line)? = first?.first else {
                            Issue.record("no bundle")
                            return
                        }
                        claims.withLock { $0[id] = line }
                    }
                }
            }
            claimants.wait()
        }
        let bundles = try claims.withLock { $0 }.values.map { line in
            try PreKeyBundle(record: try JSON.object(parsing: line))
        }
        #expect(bundles.count == keys)
        #expect(Set(bundles.compactMap(\.oneTimePreKey?.id)) == Set(1...UInt32(keys)))
        // The same claim at both relays at the same time takes one key.
        let publication = Sample.preKeys(
            of: bob, signed: 1_001, oneTime: 1_001..<1_051)
        _ = try stores[0].commit(
            [.publish(publication, head: publication.bundleHead ?? [])], at: 1)
        for _ in 0..<20 {
            let claim = Change.claim(owner: bob.id, id: Envelope.newID())
            let answers = Mutex<[[Outcome]]>([])
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                let outcomes = (try? stores[number].commit([claim], at: 1)) ?? []
                answers.withLock { $0.append(outcomes) }
            }
            let both = answers.withLock { $0 }
            #expect(both[0] == both[1] && both[0].count == 1)
        }
        #expect(try stores[0].preKeys(of: bob.id)?.oneTime == 30)
    }

    // MARK: Several relays

    func subscribe(_ address: String) throws -> RawClient {
        let client = RawClient(address)
        guard case .session = client.login(bob) else {
            throw StoreError.badServerURL
        }
        #expect(client.ask(.subscribe()) == .subscribed)
        #expect(client.response() == .empty)
        return client
    }

    @Test func oneRelayPushesWhatAnotherStores() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let homes = [TemporaryDirectory(), TemporaryDirectory()]
        let relays = try homes.map { try #require(RelayProcess($0, store: url)) }
        let consumer = try subscribe(relays[1].address)
        let sender = RawClient(relays[0].address)
        for _ in 0..<50 {
            let envelope = Sample.envelope(to: bob.id)
            #expect(sender.ask(.send(envelope)) == .stored)
            guard case .newMessage(let delivered)? = consumer.response() else {
                Issue.record("nothing was pushed")
                return
            }
            #expect(delivered.envelope == envelope.bytes)
            #expect(consumer.ask(.ack(ids: [envelope.id], .delivered)) == .acked)
        }
        for (relay, home) in zip(relays, homes) {
            relay.command.kill(SIGTERM)
            #expect(relay.command.wait() == 0)
            let log = String(
                decoding: TemporaryDirectory.contents(home("relay.log")), as: UTF8.self)
            #expect(!log.contains("user="))
        }
    }

    /// A signal passes between relays in notifications, encrypted under keys that are only in memory.
    @Test func oneRelayPushesTheSignalsOfAnother() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let relays = try (0..<2).map { _ in try RunningRelay { $0.store = url } }
        let consumer = try subscribe(relays[1].relay.address)
        let secret = "SIGNAL" + hex(randomBytes(16))
        let signal = Sample.envelope(to: bob.id, text: secret, ttl: 0)
        let address = relays[0].relay.address
        let isOver = Atomic(false)
        let sending = DispatchGroup()
        // The relays know each other after some notifications; until then the signals are dropped.
        DispatchQueue.global().async(group: sending) {
            let sender = RawClient(address)
            while !isOver.load(ordering: .relaxed) {
                #expect(sender.ask(.send(signal)) == .accepted)
            }
        }
        #expect(consumer.response() == .signal(signal.bytes))
        isOver.store(true, ordering: .relaxed)
        sending.wait()
        #expect(!cluster.hasOnDisk(secret))
    }

    @Test func aSignalIsEncryptedForOneRelay() throws {
        var (one, two, three) = (SignalPeers(), SignalPeers(), SignalPeers())
        #expect(one.notifications(of: [1]) == [])
        #expect(one.take(two.announcement, at: 1) == .newPeer)
        #expect(one.take(two.announcement, at: 1) == nil)
        #expect(one.take(one.announcement, at: 1) == nil)
        #expect(two.take(one.announcement, at: 1) == .newPeer)
        #expect(three.take(one.announcement, at: 1) == .newPeer)
        let text = try #require(one.notifications(of: [1, 2, 3]).first)
        #expect(two.take(text, at: 1) == .signal([1, 2, 3]))
        #expect(three.take(text, at: 1) == nil)
        for bad in ["", "relay", "relay AA==", "signal a b c", text + "A", text + " x", "05"] {
            #expect(two.take(bad, at: 1) == nil)
        }
        // Notifications have 8,000 bytes.
        #expect(one.notifications(of: [UInt8](repeating: 1, count: 5_900)).count == 1)
        #expect(one.notifications(of: [UInt8](repeating: 1, count: 6_000)).isEmpty)
        one.forgetOld(at: 12)
        #expect(one.isEmpty)
    }

    /// Without a notification the mailbox is polled some seconds later.
    @Test func pollingReplacesALostNotification() throws {
        let cluster = try #require(PostgresCluster.shared)
        let url = cluster.url(cluster.database())
        let running = try RunningRelay { $0.store = url }
        let consumer = try subscribe(running.relay.address)
        let store = try PostgresStore(url: url, retention: Retention())
        let envelope = Sample.envelope(to: bob.id)
        let minute = RelayClock().minute
        #expect(try store.commit([.store(envelope)], at: minute) == [.stored])
        guard case .newMessage(let delivered)? = consumer.response() else {
            Issue.record("nothing was pushed")
            return
        }
        #expect(delivered.envelope == envelope.bytes)
    }

    // MARK: PL/Proxy

    @Test(.needs(.plproxy)) func mailboxesAreSpreadOverPartitions() throws {
        let cluster = try #require(PostgresCluster.shared)
        let (proxy, parts) = cluster.partitions()
        let store = try PostgresStore(url: cluster.url(proxy), retention: Retention())
        let people = (0..<64).map { _ in Sample.identity() }
        let envelopes = people.map { Sample.envelope(to: $0.id) }
        #expect(
            try store.commit(envelopes.map { .store($0) }, at: 1) == envelopes.map { _ in .stored })
        let publications = people.map { Sample.preKeys(of: $0, oneTime: 1..<2) }
        #expect(
            try store.commit(
                publications.map { .publish($0, head: $0.bundleHead ?? []) }, at: 1)
                == people.map { _ in .published })
        let counts = parts.map { part in
            cluster.sql("SELECT count(*) FROM sotto.envelope", in: part).compactMap { Int($0) }[0]
        }
        #expect(counts.reduce(0, +) == 64 && counts.allSatisfy { $0 > 0 }, "\(counts)")
        for (person, envelope) in zip(people, envelopes) {
            #expect(try everything(store, of: person.id) == [envelope.id])
            #expect(try store.preKeys(of: person.id)?.oneTime == 1)
        }
        let ids = people.map { _ in Envelope.newID() }
        let claims = zip(people, ids).map { Change.claim(owner: $0.id, id: $1) }
        let bundles = try store.commit(claims, at: 1)
        #expect(Set(bundles.map { "\($0)" }).count == 64)
        #expect(try store.commit(claims, at: 1) == bundles)
        #expect(
            try store.commit(
                envelopes.map { .acknowledge($0.to, ids: [$0.id], .delivered) }, at: 1)
                == people.map { _ in .acknowledged(removed: 1) })
        #expect(try store.sweep(at: 2) == false)
    }

    @Test(.needs(.plproxy)) func everyPartitionIsChecked() throws {
        let cluster = try #require(PostgresCluster.shared)
        let (proxy, parts) = cluster.partitions()
        cluster.sql("ALTER DATABASE \(parts[1]) SET synchronous_commit = off")
        let url = cluster.url(proxy)
        #expect(
            throws: StoreError.serverUnsafe(
                server: try PostgresLocation(url: url).name, setting: "synchronous_commit",
                value: "off", needed: "on")
        ) { try PostgresStore(url: url, retention: Retention()) }
    }
}
