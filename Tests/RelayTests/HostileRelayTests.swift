import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoProgram
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoServer
@testable import SottoState

/// One relay, contact or record that is slow, broken or hostile fails nothing for the others.
@Suite(.timeLimit(.minutes(60))) struct HostileRelayTests {
    let scratch = TemporaryDirectory()

    private func directory() throws -> StateDirectory { try StateDirectory(path: scratch.path) }

    private func item(to recipient: KeyID = Sample.identityID()) -> Outbox.Item {
        let id = Envelope.newID()
        return Outbox.Item(
            id: id, to: recipient.description,
            envelope: Sample.record(id, to: recipient).serialized())
    }

    /// Sends items to relays, and returns the results and the endings by the address of the relay.
    private func send(
        _ items: [(item: Outbox.Item, relay: RelayURL)], reply: Double = 2
    ) throws -> (results: [String: DeliveryResult.Status], endings: [String: Delivery.Ending]) {
        let deliveries = Deliveries(
            outbox: try Outbox(directory: directory(), lockTimeout: 5),
            choice: try RelayChoice(nil), lockTimeout: 5, blobs: nil,
            patience: Delivery.Patience(connection: 2, reply: reply), progress: { _, _, _ in })
        for (item, relay) in items { #expect(try deliveries.submit([item], to: relay)) }
        try deliveries.finish(withRest: true)
        var results: [String: DeliveryResult.Status] = [:]
        let endings = try deliveries.run { batch in
            for result in batch { results[result.id] = result.status }
        }
        return (
            results,
            Dictionary(
                endings.map { ($0.relay.text, $0.ending) }, uniquingKeysWith: { first, _ in first })
        )
    }

    /// `send` ends, and the mail for the good relay is stored. The relays that answer about other requests, or push without
    /// end, were waited for without end.
    @Test func oneBadRelayFailsNoOther() throws {
        let good = try RunningRelay()
        let goodURL = try RelayURL(name: good.relay.address)
        let bad = [
            (HostileRelay(.silent), "tcp"), (HostileRelay(.silent), "tls"),
            (HostileRelay(.silent), "ws"), (HostileRelay(.silent), "http"),
            (HostileRelay(.rubbish), "tcp"),
            (HostileRelay(.rubbish), "tls"),
            (HostileRelay(.flood), "tcp"),
            (HostileRelay(.wrongIDs), "tcp"),
            (HostileRelay(.hangUp), "tcp"),
            (HostileRelay(.dripping), "http"),
        ]
        let stored = item()
        let items = try bad.map { (item(), try $0.0.url($0.1)) }
        let (results, endings) = try send(items + [(stored, goodURL)])
        #expect(results[stored.id] == .stored)
        #expect(endings[goodURL.text]?.left == 0)
        for (item, relay) in items {
            #expect(results[item.id] == .queued, "\(relay.text)")
            #expect(endings[relay.text]?.left == 1 && endings[relay.text]?.error != nil)
        }
    }

    /// A contact's relay that always asks for a proof of work gets two for each connection, and an item beside it is stored.
    @Test func aRelayThatAlwaysAsksForWorkGetsTwo() throws {
        let (asked, other) = (item(), item())
        let solved = Mutex(0)
        let relay = HostileRelay { connection in
            connection.answer { request, id in
                switch request {
                case .send(let envelope) where envelope.id == asked.id:
                    [(.error(Refusal(.workRequired)), id)]
                case .puzzle: [(.puzzle(nonce: randomBytes(WireLimits.nonceBytes), bits: 4), id)]
                case .solution:
                    solved.withLock { solved in
                        solved += 1
                        return [(.accepted, id)]
                    }
                default: [(.stored, id)]
                }
            }
        }
        let url = try relay.url()
        let (results, endings) = try send([(asked, url), (other, url)], reply: 30)
        #expect(solved.withLock { $0 } == 2)
        #expect(results == [asked.id: .deferred, other.id: .stored])
        #expect(endings[url.text]?.left == 1)
    }

    /// Cards with many addresses leave nothing unsent: what has no place in a run stays in the outbox.
    @Test func mailAboveTheLimitOfAddressesIsQueued() throws {
        let outbox = try Outbox(directory: directory(), lockTimeout: 5)
        let deliveries = Deliveries(
            outbox: outbox, choice: try RelayChoice(nil), lockTimeout: 5, blobs: nil,
            patience: Delivery.Patience(), progress: { _, _, _ in })
        let relays = try (0...Deliveries.relayLimit).map {
            try RelayURL("ws://127.0.0.1:1/\($0)")
        }
        let isTaken = try relays.map { try deliveries.submit([item()], to: $0) }
        #expect(isTaken == Array(repeating: true, count: Deliveries.relayLimit) + [false])
        try deliveries.finish(withRest: true)
        _ = try deliveries.run { _ in }
        #expect(try outbox.queues().count == relays.count)
    }

    /// An envelope that a relay pushes many times at once is delivered once, with an inbox and without.
    @Test(arguments: [true, false]) func anEnvelopeThatIsPushedManyTimesIsDeliveredOnce(
        _ hasInbox: Bool
    ) throws {
        let owner = Sample.identity()
        let store =
            hasInbox
            ? try IdentityStore(directory: directory(), identity: owner, lockTimeout: 5) : nil
        let reception = Reception(
            identity: owner, relay: try RelayURL("tcp://127.0.0.1:1"), store: store)
        var count = 0
        for handling: Reception.Handling in [
            .print { count += $0.count },
            .run { _ in
                count += 1
                return true
            },
        ] {
            let id = Envelope.newID()
            let envelope = Sample.record(id, to: owner.id).serialized()
            var run = Reception.Run(plan: reception, handling: handling)
            count = 0
            try run.take(Array(repeating: (id: id, envelope: envelope), count: 50))
            #expect(count == 1 && run.ending.received == 1)
        }
    }

    // MARK: Deliveries

    /// A card with another scheme or a wrong pin for the same host and port takes nothing from the mail of others.
    @Test func aDeliveryBelongsToSchemeHostPortAndPin() throws {
        let relay = try TransportTests.SecureRelay()
        defer { relay.stop() }
        let wrong = String(repeating: "00", count: 32)
        let texts = [
            "tls://\(relay.relay.address)#sha256=\(wrong)", relay.url("tls"),
            relay.url("tcp"), relay.url("wss"),
        ]
        let items = try texts.map { (item(), try RelayURL($0)) }
        let (results, endings) = try send(items)
        #expect(items.map { results[$0.0.id] } == [.queued, .stored, .stored, .stored])
        guard case .otherKey? = endings[texts[0]]?.error else {
            Issue.record("\(endings)")
            return
        }
        #expect(endings.count == 4)
    }

    /// The user's own address is used for a relay that a card names too, but it takes TLS from nothing.
    @Test func whatIsAskedForSecurelyNeverTravelsOtherwise() throws {
        let pin = "#sha256=" + String(repeating: "ab", count: 32)
        let plain = try RelayURL("tcp://relay.example:7667")
        let secure = try RelayURL("tls://relay.example:7667")
        let pinned = try RelayURL("tls://relay.example:7667" + pin)
        let others = try [
            RelayURL("tls://relay.example:7668"), RelayURL("wss://relay.example:7667/other"),
        ]
        for own in [secure, pinned] {
            for noted in [plain, secure, pinned] { #expect(own.replaces(noted)) }
        }
        let web = try RelayURL("ws://relay.example:7667")
        #expect(plain.replaces(plain) && plain.replaces(web))
        for noted in [secure, pinned] + others { #expect(!plain.replaces(noted)) }
        for noted in others { #expect(!pinned.replaces(noted)) }
        // The equal address precedes others of the same relay, and a plain one serves no secure one.
        #expect(pinned.known(among: [secure, pinned]) == pinned)
        #expect(secure.known(among: [plain, pinned]) == pinned)
        #expect(pinned.known(among: [plain]) == nil)
    }

    /// Mail waits for its own address. `--relay` sends it with another pin, and never without TLS.
    @Test func queuedMailKeepsItsAddress() throws {
        let relay = try TransportTests.SecureRelay()
        let world = relay.world
        defer { relay.stop() }
        let wrong = "tls://\(relay.relay.address)#sha256=" + String(repeating: "0", count: 64)
        _ = world.envelopes("in", 2)
        #expect(world.run("send", input: "in", output: "queued", relay: wrong) == 75)
        #expect(world.errors.contains("is not the pinned one"))
        #expect(world.run("send", output: "sent", relay: "tcp://\(relay.relay.address)") == 75)
        let plain = ["--relay", "tcp://\(relay.relay.address)"]
        #expect(world.run("send", plain, output: "sent", relay: "") == 0)
        #expect(world.statuses("sent").isEmpty && world.errors.contains("2 more wait"))
        #expect(world.run("send", ["--relay", relay.url("wss")], output: "sent", relay: "") == 0)
        #expect(world.statuses("sent") == ["stored", "stored"])
    }

    /// A pin in the list of a group precedes the pin on a member's card, which could be wrong.
    @Test func theListedPinOfAMembersRelayIsUsed() {
        let (name, pin) = (
            "tls://relay.example:7667", "#sha256=" + String(repeating: "ab", count: 32)
        )
        let wrong = name + "#sha256=" + String(repeating: "00", count: 32)
        let own = ListedRelays([name + pin])
        for card in [name, wrong, name + pin] { #expect(own.address(of: card) == name + pin) }
        #expect(own.address(of: "tcp://relay.example:7667") == nil)
        #expect(ListedRelays([name]).address(of: wrong) == wrong)
        #expect(ListedRelays([name + pin, wrong]).address(of: wrong) == wrong)
    }

    /// One port serves all transports with TLS, or all without, so a member with another transport is at the listed relay.
    @Test func anotherTransportIsTheSameRelay() {
        let plain = ListedRelays(["tcp://relay.example:7667"])
        for card in ["http://relay.example:7667", "ws://relay.example:7667/"] {
            #expect(plain.address(of: card) == "tcp://relay.example:7667", "\(card)")
        }
        for card in [
            "https://relay.example:7667", "http://relay.example", "http://relay.example:7667/a",
            "http://other.example:7667", "ftp://relay.example:7667", "relay.example:7667", "://",
            "tcp://relay.example", "",
        ] { #expect(plain.address(of: card) == nil, "\(card)") }
        let pinned = "tls://[2001:db8::1]:443#sha256=" + String(repeating: "ab", count: 32)
        let secure = ListedRelays(["https://relay.example/sotto", pinned])
        #expect(
            secure.address(of: "wss://relay.example:443/sotto") == "https://relay.example/sotto")
        #expect(secure.address(of: "wss://[2001:db8::1]") == pinned)
        #expect(secure.address(of: "wss://[2001:db8::2]") == nil)
    }

    // MARK: Transfers

    @Test func aTransferHasATotalTimeAndALeastRate() {
        let pace = TransferPace(period: 10, leastRate: 100, total: 60)
        var deadline = TransferDeadline(pace, at: 1_000)
        #expect(deadline.at == 1_010)
        // A little progress does not move it; the bytes of a period do, up to the total.
        for second in 1...9 { deadline.arrived(Int64(second * 90), at: 1_000 + Double(second)) }
        #expect(deadline.at == 1_010)
        deadline.arrived(1_000, at: 1_009)
        #expect(deadline.at == 1_019)
        deadline.arrived(1_900, at: 1_015)
        #expect(deadline.at == 1_019)
        for second in 16...80 {
            deadline.arrived(Int64(second * 1_000), at: 1_000 + Double(second))
        }
        #expect(deadline.at == 1_060)
    }

    @Test(arguments: [HostileRelay.Behaviour.silent, .dripping])
    func aFetchFromASlowRelayEnds(_ behaviour: HostileRelay.Behaviour) throws {
        let relay = HostileRelay(behaviour)
        let pointer = BlobPointer(key: randomBytes(32), digest: randomBytes(32), size: 65_536)
        let id = randomBytes(32)
        let download = BlobDownload(
            pointer, id: id, to: try BlobFolder(directory: directory()).incoming(id))
        let url = try relay.url()
        #expect(throws: ClientError.lost(relay: url.description)) {
            try download.run(at: url, TransferPace(period: 0.5, leastRate: 1_024, total: 1))
        }
    }

    /// Adds a file that a member offers, and whose relay is `relay`, to a state.
    private func addWantedFile(at relay: RelayURL, to store: IdentityStore) throws {
        var (file, _) = try GroupFile.seal(
            [UInt8](repeating: 0x20, count: 60_000), heads: [], key: randomBytes(32),
            nonce: randomBytes(16))
        file.pointer.place = BlobPointer.Place(relay: relay.text, id: randomBytes(32))
        let from = Sample.identityID()
        try store.transaction { state in
            let group = try state.createGroup(GroupPolicy(relays: [relay.text]), [])
            let mark = store.mark(file, of: group.id, from: from)
            try state.connection.run(
                """
                INSERT INTO group_file (group_id, mark, device, stage, time, sealed)
                VALUES (?, ?, ?, 1, ?, ?)
                """, group.number, mark, store.mark(from), Timestamp.now().seconds,
                store.seal(
                    OfferedGroupFile.encoded(file, of: group.id, from: from),
                    .groupFile(mark: mark)))
        }
    }

    /// The fetch of a group's file ran in the reading loop of `recv`: a relay that answers slowly delayed all mail by hours.
    @Test(arguments: [HostileRelay.Behaviour.silent, .dripping])
    func aSlowRelayOfAGroupDelaysNoEnvelope(_ behaviour: HostileRelay.Behaviour) throws {
        let own = try #require(RelayProcess(scratch))
        defer { own.end() }
        let world = World(address: own.address)
        let slow = HostileRelay(behaviour)
        do {
            let store = try IdentityStore(
                directory: StateDirectory(path: world.scratch("state")), identity: world.bob,
                lockTimeout: 5)
            try addWantedFile(at: slow.url(), to: store)
        }
        let listener = world.command("recv", ["--follow"], output: "got")
        #expect(slow.waitForConnection())
        let ids = world.envelopes("in", 3)
        #expect(world.run("send", input: "in", output: "sent") == 0)
        let deadline = Monotonic.seconds() + 20
        while world.ids("got").count < 3, Monotonic.seconds() < deadline { usleep(10_000) }
        #expect(world.ids("got") == ids)
        listener.kill(SIGTERM)
        listener.wait()
        slow.forgetConnections()
        // After the last envelope `recv` waits for the file a short time, without the lock.
        let last = world.command("recv", output: "none")
        #expect(slow.waitForConnection())
        #expect(world.run("recv", ["--lock-timeout", "5", "-q"], output: "none") == 1)
        #expect(last.wait(atMost: 40) == 1)
        #expect(!world.errors.contains("another recv"))
    }

    /// Contacts with a silent relay delay the claims at other relays no more than the reading.
    @Test func aSilentRelayDelaysNoClaimElsewhere() throws {
        let (silent, good) = (HostileRelay(.silent), try RunningRelay())
        let store = try IdentityStore(
            directory: directory(), identity: Sample.identity(), lockTimeout: 5)
        let people = (0..<2).map { _ in Sample.identity() }
        let relays = [try silent.url().text, "tcp://\(good.relay.address)"]
        try store.transaction { state in
            for (person, relay) in zip(people, relays) {
                try state.save(
                    Contact(name: relay, id: person.id, card: person.card(relay: relay)))
            }
        }
        #expect(good.client().publish(Sample.preKeys(of: people[1], oneTime: 1..<3)) == .stored)
        try BundleStock(store, authorities: nil).fill(within: 1)
        #expect(try store.preview { try $0.freshBundle(of: people[1].id) } != nil)
    }

    /// An upload had no least rate: a relay that confirms a piece and then delays the next one held `send` for any time.
    @Test(arguments: [false, true])
    func anUploadToASlowRelayEnds(_ closes: Bool) throws {
        let relay = HostileRelay { connection in
            func head() -> String {
                var text = ""
                while let line = connection.line(), line.count > 1 {
                    text += String(decoding: line, as: UTF8.self) + "\n"
                }
                return text
            }
            var count = 0
            while true {
                let request = head()
                if request.isEmpty { return }
                if request.hasPrefix("HEAD") {
                    connection.write(
                        Array("HTTP/1.1 404 Not Found\r\nUpload-Offset: 0\r\n\r\n".utf8))
                    continue
                }
                var left = WireLimits.blobPieceBytes
                var byte: UInt8 = 0
                while left > 0, read(connection.descriptor, &byte, 1) == 1 { left -= 1 }
                count += 1
                if count > 1 {
                    while !closes, connection.isOpen() {}
                    return
                }
                connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
            }
        }
        let bytes = randomBytes(8 * WireLimits.blobPieceBytes)
        scratch.write("blob", bytes)
        let record = BlobRecord(
            id: randomBytes(32), to: Sample.identityID(), size: Int64(bytes.count),
            digest: sha256(bytes), relay: nil)
        let group = RelayLink.makeGroup()
        let uploader = BlobUploader(
            to: try relay.url(), group: group, pace: TransferPace(period: 1, leastRate: 1_048_576))
        var progress: [Int64] = []
        func upload() -> BlobUploader.Ending {
            uploader.upload(record, from: scratch("blob")) { progress.append($0) }
        }
        guard case .failed(let error, let hasProgressed) = upload() else {
            Issue.record("it did not end")
            return
        }
        #expect(progress == [Int64(WireLimits.blobPieceBytes)])
        let url = try relay.url()
        if closes {
            #expect(error == .lost(relay: url.description) && hasProgressed)
            // The same bytes again are no progress.
            guard case .failed(_, false) = upload() else {
                Issue.record("it progressed")
                return
            }
            #expect(progress.count == 1)
        } else {
            #expect(error == .tooSlow(relay: url.description) && !hasProgressed)
        }
    }

    @Test func theRateOfAnUploadCountsOverAllAttempts() {
        var progress = UploadProgress(id: [], pace: TransferPace(period: 60, leastRate: 100))
        func attempt(_ start: Double, _ confirmed: Int64?, seconds: Double) -> (Bool, Bool) {
            progress.begin(at: start)
            let isMore = confirmed.map { progress.confirm($0, at: start + seconds) } ?? false
            return (isMore, progress.fail(at: start + seconds))
        }
        // The pauses between the attempts do not count.
        for number in 1...5 {
            #expect(attempt(Double(number * 1_000), Int64(number), seconds: 11) == (true, false))
            #expect(progress.left(at: Double(number * 1_000 + 11)) == Double(60 - 11 * number))
        }
        #expect(attempt(9_000, 6, seconds: 5) == (true, true))
        // After an attempt without progress the time counts anew.
        #expect(attempt(10_000, 6, seconds: 30) == (false, false))
        progress.begin(at: 11_000)
        #expect(progress.left(at: 11_000) == 60)
        let isMore = progress.confirm(60_000, at: 11_030)
        #expect(isMore && progress.left(at: 11_030) == 60)
    }

    // MARK: The outbox

    /// A row that a later version wrote, or that is damaged, ended `send` for all relays.
    @Test func aRowOfAnUnknownKindEndsItsDeliveryOnly() throws {
        let good = try RunningRelay()
        let world = World(address: good.relay.address)
        let outbox = try Outbox(
            directory: StateDirectory(path: world.scratch("state")), lockTimeout: 5)
        let (unknown, beside) = (item(), item())
        _ = try outbox.append([unknown, beside], relay: "tcp://127.0.0.1:1")
        try outbox.write { connection throws(StateError) in
            try connection.run("UPDATE outbox SET kind = 77 WHERE id = ?", unknown.id)
        }
        let waiting = item(to: world.bob.id)
        _ = try outbox.append([waiting], relay: "tcp://\(good.relay.address)")
        #expect(world.run("send", output: "sent", relay: "") == 74)
        #expect(world.ids("sent") == [waiting.id] && world.statuses("sent") == ["stored"])
        #expect(
            world.errors.contains(
                "cannot send to tcp://127.0.0.1:1: the item \(unknown.id) in the outbox is of an unknown kind"
            ), "\(world.errors)")
        #expect(world.errors.contains("sotto send --drop \(unknown.id)"))
        #expect(world.run("send", ["--list"], output: "list") == 0)
        #expect(world.run("send", ["--drop", unknown.id], output: "dropped") == 0)
        #expect(world.run("send", output: "sent", relay: "") == 75)
        #expect(world.errors.contains("1 envelope is queued"))
    }

    /// After an error of the outbox the envelopes that follow are kept, and the input is not blocked.
    @Test func itemsAfterAnErrorOfTheOutboxAreKept() throws {
        let relay = RelayURL(host: "127.0.0.1", port: 1)
        let outbox = try Outbox(directory: directory(), lockTimeout: 5)
        let unknown = item()
        _ = try outbox.append([unknown], relay: relay.text)
        try outbox.write { connection throws(StateError) in
            try connection.run("UPDATE outbox SET kind = 77")
        }
        let items = (0..<20).map { _ in item() }
        let deliveries = Deliveries(
            outbox: try Outbox(directory: directory(), lockTimeout: 5),
            choice: try RelayChoice(nil), lockTimeout: 5)
        DispatchQueue(label: "input").async {
            #expect(throws: Never.self) {
                for item in items { #expect(try deliveries.submit([item], to: relay)) }
                try deliveries.finish(withRest: true)
            }
        }
        var results: [DeliveryResult] = []
        let endings = try deliveries.run { results += $0 }
        #expect(results.map(\.id) == items.map(\.id))
        #expect(results.allSatisfy { $0.status == .queued })
        #expect(endings.map(\.ending.error) == [.state(.unknownItem(id: unknown.id))])
        #expect(endings.map(\.ending.left) == [21])
        #expect(try outbox.list().count == 21)
    }

    // MARK: Mailboxes

    /// A relay for one identity. `push` gets the number of the subscription on this connection and pushes envelopes.
    private func mailbox(
        of owner: Identity, onAck: @escaping @Sendable (Int) -> Void = { _ in },
        push: @escaping @Sendable (HostileRelay.Connection) -> Void
    ) -> HostileRelay {
        let name = Mutex("")
        let relay = HostileRelay { connection in
            while let line = connection.line() {
                guard let frame = try? Frame(parsing: line), let request = try? Request(frame)
                else { return }
                let response: Response
                switch request {
                case .challenge:
                    response = .challenge(
                        nonce: randomBytes(32), names: [name.withLock { $0 }])
                case .login: response = .session(nil, token: nil)
                case .subscribe:
                    connection.write(Response.subscribed.line(requestID: frame.requestID))
                    push(connection)
                    continue
                case .ack(let ids, _, _):
                    onAck(ids.count)
                    response = .acked
                default: response = .error(Refusal(.unknownType))
                }
                connection.write(response.line(requestID: frame.requestID))
            }
        }
        name.withLock { $0 = relay.address }
        return relay
    }

    /// Returns lines that push `count` new envelopes.
    private static func pushes(to owner: KeyID, _ count: Int) -> [UInt8] {
        Array(
            (0..<count).map { number in
                Response.newMessage(
                    Delivered(
                        sequence: Int64(number + 1),
                        envelope: Sample.record(Envelope.newID(), to: owner).serialized())
                ).line()
            }.joined())
    }

    /// A relay that pushes without end grew the state to 405 MB in half a minute: the inbox was only tidied at the start.
    @Test(arguments: [false, true])
    func aFloodFillsTheInboxToItsLimit(_ follows: Bool) throws {
        let owner = Sample.identity()
        let store = try IdentityStore(directory: directory(), identity: owner, lockTimeout: 5)
        let acknowledged = Mutex(0)
        let relay = mailbox(of: owner) { count in
            acknowledged.withLock { $0 += count }
        } push: { connection in
            connection.write(Self.pushes(to: owner.id, 500))
        }
        var reception = Reception(identity: owner, relay: try relay.url(), store: store)
        reception.follow = follows
        reception.inboxLimit = InboxLimit(count: 100, bytes: 1 << 20)
        var got: [[UInt8]] = []
        let ending = try reception.run(.print { got += $0 })
        #expect(ending.error == .inboxFull && ending.received == 100 && got.count == 100)
        #expect(ending.error?.failure.status == .tryAgain)
        #expect(try store.count(.unfinished) == 100)
        // The others stay on the relay.
        #expect(acknowledged.withLock { $0 } == 100)
        // After some were opened there is room again.
        try store.transaction { state in
            for line in got.prefix(30) {
                let id = Sample.id(String(decoding: line, as: UTF8.self))
                let isMarked = try state.markOpened(id: id, envelope: line)
                #expect(isMarked)
            }
        }
        try store.finish(got.prefix(30).map { Sample.id(String(decoding: $0, as: UTF8.self)) })
        let next = try reception.run(.print { got += $0 })
        #expect(next.error == .inboxFull && next.received == 30 && got.count == 130)
    }

    /// A full inbox still acknowledges what it knows, and has a limit of bytes too.
    @Test func aFullInboxKnowsItsEnvelopes() throws {
        let store = try IdentityStore(
            directory: directory(), identity: Sample.identity(), lockTimeout: 5)
        let limit = InboxLimit(count: 10, bytes: 3_000)
        func receive(_ ids: [String]) throws -> [IdentityStore.Received] {
            try store.receive(
                ids.map { ($0, [UInt8](repeating: 0x20, count: 1_000)) }, to: .print, limit: limit)
        }
        #expect(try receive(["a", "b"]) == [.new, .new])
        #expect(try receive(["c", "d", "a"]) == [.new, .full, .waiting])
        try store.markPrinted(["a", "b", "c"])
        #expect(try receive(["a", "e"]) == [.handled, .full])
        try store.markHandled(["a"])
        #expect(try receive(["a", "e", "f"]) == [.handled, .new, .full])
        let small = InboxLimit(count: 1, bytes: 3_000)
        for _ in 0..<IdentityStore.failureLimit {
            for id in ["b", "c"] { _ = try store.markFailed(id, limit: small) }
        }
        #expect(try store.kept(.dead, after: 0, limit: 9).map(\.id) == ["c"])
    }

    /// `recv` waited for ever for a relay that delivers a little, again and again, and never says that the mailbox is empty.
    @Test(arguments: [true, false])
    func aRelayThatNeverSaysEmptyEnds(_ closes: Bool) throws {
        let owner = Sample.identity()
        let store = try IdentityStore(directory: directory(), identity: owner, lockTimeout: 5)
        let relay = mailbox(
            of: owner,
            push: { connection in
                connection.write(Self.pushes(to: owner.id, 2))
                if closes { shutdown(connection.descriptor, Int32(SHUT_WR)) }
            })
        var reception = Reception(identity: owner, relay: try relay.url(), store: store)
        if !closes { reception.pace = TransferPace(period: 1, leastRate: 100_000) }
        let ending = try reception.run(.print { _ in })
        #expect(ending.error == .tooSlow(relay: reception.relay.description))
        #expect(ending.received >= (closes ? 2 * MailboxPace.mostInterruptions : 2))
    }

    @Test func onlyTheTimeOfWaitingForARelayCounts() {
        var pace = MailboxPace(TransferPace(period: 10, leastRate: 100, total: 60))
        for _ in 0..<5 {
            pace.waited(9)
            #expect(!pace.isTooSlow)
            pace.received(1_000)
        }
        pace.waited(10)
        #expect(pace.isTooSlow)
        pace.noteEmpty()
        #expect(!pace.isTooSlow)
        for _ in 1..<MailboxPace.mostInterruptions { pace.interrupted(after: 1) }
        #expect(!pace.isTooSlow)
        pace.interrupted(after: WireLimits.window)
        for _ in 1..<MailboxPace.mostInterruptions { pace.interrupted(after: 0) }
        #expect(!pace.isTooSlow)
        pace.interrupted(after: 9)
        #expect(pace.isTooSlow)
    }

    // MARK: Prekeys

    /// A relay for one identity that answers a publication with `publication`, or not at all, and pushes an envelope.
    private func relay(
        of owner: Identity, publication: Response?
    ) -> (relay: HostileRelay, envelope: String) {
        let envelope = Envelope.newID()
        let pushed = Delivered(
            sequence: 1, envelope: Sample.record(envelope, to: owner.id).serialized())
        let name = Mutex("")
        let relay = HostileRelay { connection in
            connection.answer { request, id in
                switch request {
                case .challenge:
                    [(.challenge(nonce: randomBytes(32), names: [name.withLock { $0 }]), id)]
                case .login: [(.session(nil, token: nil), id)]
                case .subscribe:
                    [(.subscribed, id), (.newMessage(pushed), nil), (.empty, nil)]
                case .publish: publication.map { [($0, id)] } ?? []
                case .ack: [(.acked, id)]
                default: [(.error(Refusal(.unknownType)), id)]
                }
            }
        }
        name.withLock { $0 = relay.address }
        return (relay, envelope)
    }

    /// Prekeys that the relay has lacked for days are an error at the end, and delay no envelope.
    @Test(arguments: [nil, Response.error(Refusal(.diskFull))], [0, 3] as [Int64])
    func prekeysThatAreNotPublishedAreReported(_ publication: Response?, _ days: Int64) throws {
        let owner = Sample.identity()
        let store = try IdentityStore(directory: directory(), identity: owner, lockTimeout: 5)
        let made = Timestamp(seconds: Timestamp.now().seconds - days * 86_400)
        try store.transaction { _ = try $0.publication(at: made) }
        let (relay, envelope) = relay(of: owner, publication: publication)
        var reception = Reception(identity: owner, relay: try relay.url(), store: store)
        reception.publicationSeconds = 0.5
        var got: [String] = []
        let ending = try reception.run(
            .print { got += $0.map { Sample.id(String(decoding: $0, as: UTF8.self)) } })
        #expect(got == [envelope] && ending.error == nil)
        #expect((ending.preKeyError != nil) == (days > 2))
    }

    /// An error of the state stops the renewal, and the user hears of it; it stops no envelope.
    @Test func prekeysThatCannotBeRenewedAreReported() throws {
        let world = try Correspondence()
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send -q")
        try world.state("bob") { connection throws(StateError) in
            try connection.run("UPDATE prekey SET made = made - 8 * 86400")
            try connection.run(
                """
                CREATE TRIGGER refusal BEFORE INSERT ON prekey
                BEGIN SELECT RAISE(ABORT, 'no'); END
                """)
        }
        try world.expect("alice", "echo hello | encrypt -q --to bob.card | send -q")
        #expect(try world.expect("bob", "recv").count == 1)
        #expect(world.errors.contains("recv: note: prekeys cannot be renewed: "), "\(world.errors)")
    }
}
