import Glibc
import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// Files of messages from Alice to Bob through a relay, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct BlobProgramTests {
    private static let send = "encrypt --to bob.card --attach file -q | send -q"

    /// Sends the file as Alice and opens the message as Bob. Returns its record.
    private func sendFile(_ world: Correspondence, _ options: String = "") throws -> JSONObject {
        try world.expect("alice", "echo look | \(Self.send) \(options)")
        let lines = try world.expect("bob", "recv -q | decrypt -q | tee message")
        return try JSON.object(parsing: Array(try #require(lines.last).utf8))
    }

    private func contents(_ world: Correspondence, _ name: String) -> [UInt8] {
        TemporaryDirectory.contents(world.scratch(name))
    }

    /// Returns the files in Alice's state. She keeps the encrypted file, so that it can be sent again, and none that waits.
    private func kept(_ world: Correspondence) throws -> [String] {
        let names = try world.expect("alice", "ls $SOTTO_HOME/blobs")
        #expect(names.allSatisfy { $0.hasPrefix("composed-") })
        return names
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 3_000_000])
    func aFileIsSentAndSaved(_ size: Int) throws {
        let world = try Correspondence()
        let file = randomBytes(size)
        world.scratch.write("file", file)
        let message = try sendFile(world)
        #expect(message["body"]?.object?["size"] == .integer(Int64(size)))
        try world.expect("bob", "recv --blob message | decrypt --attachment message -o got")
        #expect(contents(world, "got") == file)
        // In the state, by the number of the message.
        let number = try #require(message["number"]?.integer)
        #expect(
            try world.expect("bob", "history --text").contains {
                $0.contains("\(number)  ") && $0.hasSuffix("[file file] look")
            })
        let onTerminal = try TerminalSession(
            Command(
                path: Programs.path("recv"), ["--blob", "\(number)"],
                environment: world.environment("bob"), directory: world.scratch.path)
        ).finish()
        let command = "sotto recv --blob \(number) | sotto decrypt --attachment \(number) -o ."
        #expect(onTerminal.status == 64 && onTerminal.text.contains("hint: \(command)\n"))
        try world.expect("bob", "recv --blob \(number) --keep && mkdir out")
        #expect(try world.expect("bob", "history save -o out \(number)") == ["out/file"])
        #expect(contents(world, "out/file") == file)
        #expect(world.shell("bob", "history save -o out \(number)").status == 1)
        #expect(world.errors.contains("recv --blob \(number) --keep"))
        #expect(try world.expect("bob", "ls $SOTTO_HOME/blobs").isEmpty)
        #expect(try kept(world).count == 1)
        world.stop()
    }

    /// A killed `send` is repeated with the same records, so the outbox has the blob several times.
    @Test func aBlobThatIsGivenTwiceIsUploadedOnce() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(20_000))
        for _ in 0..<10 {
            try world.expect(
                "alice",
                "echo look | encrypt --to bob.card --attach file -q > lines; head -n 1 lines > blob"
            )
            let results = try world.expect("alice", "cat blob blob blob lines | send -q")
            #expect(
                results.count == 5 && results.allSatisfy { !$0.contains("queued") }, "\(results)")
        }
        world.stop()
    }

    @Test(arguments: TransportTests.schemes, StoreKind.available)
    func everyTransportCarriesFiles(_ scheme: String, _ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let secure = try TransportTests.SecureRelay(store: try fixture.location(kind))
        let world = try Correspondence()
        let url = secure.url(scheme)
        let sizes = [0, 1, 65_535, 65_536, 65_537, 1_500_000]
        let names = sizes.map { "file\($0)" }
        for (name, size) in zip(names, sizes) { world.scratch.write(name, randomBytes(size)) }
        let attached = names.map { "--attach \($0)" }.joined(separator: " ")
        try world.expect(
            "alice",
            "export SOTTO_RELAY='\(url)'; encrypt --to bob.card \(attached) -q < /dev/null | send -q"
        )
        try world.expect(
            "bob",
            """
            export SOTTO_RELAY='\(url)'; recv -q | decrypt -q > messages; mkdir got; \
            while read -r line; do printf '%s' "$line" > message; \
            recv --blob message < /dev/null | decrypt --attachment message -o got || exit; \
            done < messages
            """)
        for name in names { #expect(contents(world, "got/\(name)") == contents(world, name)) }
        #expect(try world.expect("bob", "ls got").count == sizes.count)
        secure.stop()
        world.stop()
    }

    /// The frames of blobs, over each transport.
    @Test(arguments: RelayURL.Scheme.allCases)
    func everyTransportHasTheFrames(_ scheme: RelayURL.Scheme) throws {
        var plan = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: TemporaryDirectory()("r.db"))
        plan.tls = TestCertificate.files
        let place = TemporaryDirectory()
        plan.store = place("relay.db")
        let relay = try Relay.start(plan) { _ in }
        defer { try? relay.stop() }
        let client = TransportClient(scheme, relay.address)
        func ask(_ request: Request) -> Response? {
            guard case .frame(let line, _) = client.ask(request) else { return nil }
            return (try? Frame(parsing: Array(line.utf8))).flatMap { Response($0) }
        }
        let (bytes, key) = (randomBytes(70_000), randomBytes(32))
        var piece = BlobPiece(
            id: randomBytes(32), to: Sample.identity().id, size: 70_000, digest: sha256(bytes),
            deletion: sha256(key))
        #expect(ask(.blob(id: piece.id)) == .blob(BlobState(size: 0, have: 0)))
        piece.bytes = Array(bytes[..<65_536])
        #expect(ask(.putBlob(piece)) == .blob(BlobState(size: 70_000, have: 65_536)))
        #expect(
            ask(.getBlob(id: piece.id, offset: 0, count: 1)) == .error(Refusal(.noBlob)))
        piece.offset = 65_536
        piece.bytes = Array(bytes[65_536...])
        #expect(ask(.putBlob(piece)) == .blob(BlobState(size: 70_000, have: 70_000)))
        #expect(ask(.getBlob(id: piece.id, offset: 0, count: 100_000)) == .blobData(bytes))
        #expect(ask(.deleteBlob(id: piece.id, key: randomBytes(32))) == .accepted)
        #expect(ask(.blob(id: piece.id)) == .blob(BlobState(size: 70_000, have: 70_000)))
        #expect(ask(.deleteBlob(id: piece.id, key: key)) == .accepted)
        #expect(ask(.blob(id: piece.id)) == .blob(BlobState(size: 0, have: 0)))
    }

    /// curl uploads, downloads and deletes.
    @Test func curlCarriesABlob() throws {
        let world = try Correspondence()
        let file = randomBytes(500_000)
        world.scratch.write("file", file)
        let id = hex(randomBytes(32))
        let key = randomBytes(32)
        let url = "http://\(world.relay.address)/api/blobs/\(id)"
        @discardableResult
        func curl(_ options: String) throws -> [String] {
            try world.expect("bob", "curl -s -w '\\n%{http_code}\\n' \(options) | tr -d '\\r'")
        }
        let query = "?to=\(world.bob.id)&digest=\(hex(sha256(file)))&delete=\(hex(sha256(key)))"
        func put(_ part: String, _ range: String, _ more: String = "") throws -> [String] {
            try curl(
                "-T \(part) -H 'Content-Range: bytes \(range)/500000' '\(url)\(query)\(more)'"
            )
        }
        try world.expect("bob", "head -c 200000 file > one; tail -c +200001 file > two")
        #expect(try curl("-I \(url)").contains { $0.hasPrefix("upload-offset: 0") })
        #expect(try put("two", "200000-499999").last == "409")
        #expect(try put("one", "0-199999").last == "200")
        #expect(try curl("-I \(url)").contains { $0.hasPrefix("upload-offset: 200000") })
        #expect(try curl("\(url)").last == "404")
        #expect(try put("two", "200000-499998").last == "400")
        #expect(try put("two", "200000-499999", "&x").last == "400")
        #expect(try put("two", "200000-499999").last == "200")
        try curl("\(url) -o got")
        #expect(contents(world, "got") == file)
        try curl("-r 499990- \(url) -o got")
        #expect(contents(world, "got") == Array(file.suffix(10)))
        #expect(try curl("-r 500000- \(url)").last == "416")
        #expect(try curl("-I \(url)").contains { $0.hasPrefix("content-length: 500000") })
        #expect(try curl("-X DELETE '\(url)?key=\(hex(key))'").last == "200")
        #expect(try curl("\(url)").last == "404")
        // Bad requests.
        world.scratch.write("empty", [])
        for (options, status) in [
            ("-T file '\(url)'", "400"), ("-T file '\(url)?to=1'", "400"),
            ("-T file '\(url)0?to=\(world.bob.id)'", "400"), ("-X POST '\(url)'", "405"),
            ("-X DELETE '\(url)'", "400"), ("-T empty '\(url)\(query)'", "400"),
            ("-H 'Transfer-Encoding: chunked' -T file '\(url)\(query)'", "411"),
        ] {
            #expect(try curl("\(options)").last == status, "\(options)")
        }
        world.stop()
    }

    /// A blob that was changed, cut, extended or exchanged at the relay is not saved.
    @Test func aChangedBlobAtTheRelayIsRefused() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(300_000))
        _ = try sendFile(world)
        let folder = world.storePath + "-blobs"
        let name = try #require(try world.expect("bob", "ls \(folder)").first)
        let path = "\(folder)/\(name)"
        let blob = TemporaryDirectory.contents(path)
        for place in [128, 128 + 65_536, blob.count - 1] {
            var changed = blob
            changed[place] ^= 1
            write(changed, to: path)
            let run = world.shell("bob", "recv --blob message > got")
            #expect(run.status == 11 && contents(world, "got").isEmpty)
            #expect(try world.expect("bob", "ls $SOTTO_HOME/blobs").isEmpty)
        }
        write(Array(blob.dropLast(1)), to: path)
        #expect(world.shell("bob", "recv --blob message > got").status == 1)
        #expect(access(path, F_OK) != 0)
        world.stop()
    }

    @Test func aBlobThatIsGoneIsReported() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(300_000))
        _ = try sendFile(world)
        try world.expect("bob", "recv --blob message | decrypt --attachment message -o got")
        #expect(contents(world, "got") == contents(world, "file"))
        let folder = world.storePath + "-blobs"
        try world.expect("bob", "rm \(folder)/*")
        #expect(world.shell("bob", "recv --blob message > got").status == 1)
        world.stop()
    }

    private func write(_ bytes: [UInt8], to path: String) {
        let descriptor = open(path, O_WRONLY | O_TRUNC)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    /// The sender chooses the relay in the message (C12).
    @Test func onlyKnownRelaysAreAsked() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(1_000))
        var message = try sendFile(world)
        func fetch(_ relay: String?, _ options: String = "") throws -> Int32 {
            var body = try #require(message["body"]?.object)
            var blob = try #require(body["blob"]?.object)
            blob["relay"] = relay.map { .string($0) }
            body["blob"] = .object(blob)
            message["body"] = .object(body)
            world.scratch.write("message", message.serialized())
            return world.shell("bob", "recv --blob message \(options) > got").status
        }
        #expect(try fetch("tcp://192.0.2.1:7667") == 12)
        #expect(world.errors.contains("--relay"))
        #expect(try fetch("no address") == 12)
        #expect(try fetch("tcp://\(world.relay.address)") == 0)
        #expect(try fetch("http://\(world.relay.address)") == 0)
        #expect(try fetch(nil) == 0)
        #expect(try fetch("tcp://192.0.2.1:7667", "--relay tcp://\(world.relay.address)") == 0)
        // The relay of a contact.
        let card = """
            keygen --name dave -q -o dave.key --relay tcp://\(world.relay.address) > /dev/null
            keygen public dave.key > dave.card; contact add --name dave dave.card -q
            export SOTTO_RELAY=tcp://127.0.0.1:1
            """.split(separator: "\n").joined(separator: "; ")
        #expect(try fetch("tcp://\(world.relay.address)") == 0)
        try world.expect("bob", "\(card); recv --blob message > got")
        world.stop()
    }

    @Test func aNameFromTheSenderIsHarmless() throws {
        let world = try Correspondence()
        let names = [
            "../../x": "x", "-rf": "-rf", ".bashrc": "_bashrc", "..": "file", "a\nb": "a\u{FFFD}b",
            "a/": "a", "C:\\x.exe": "C:\u{FFFD}x.exe",
            String(repeating: "ä", count: 300): String(repeating: "ä", count: 127),
        ]
        try world.expect("bob", "mkdir out")
        for (name, saved) in names {
            let (file, key) = (randomBytes(100), randomBytes(32))
            world.scratch.write(
                "blob", AESGCM.seal(file, key: SecretBytes(copying: key)))
            let body: JSONObject = [
                "type": .string("file"), "name": .string(name),
                "contentType": .string("text/plain"), "size": .integer(100),
                "key": .base64(key),
            ]
            world.scratch.write(
                "message",
                JSONObject([
                    ("v", .integer(1)), ("type", .string("message")), ("body", .object(body)),
                ]).serialized())
            for copy in [saved, nil] {
                try world.expect("bob", "decrypt --attachment message -o out blob")
                guard let copy else { continue }
                #expect(contents(world, "out/\(copy)") == file, "\(name)")
            }
        }
        #expect(try world.expect("bob", "ls -A out").count == 2 * names.count)
        world.stop()
    }

    @Test func aRefusedFileTakesItsMessageAlong() throws {
        let world = try Correspondence(["--blob-mailbox-bytes", "100KB"])
        world.scratch.write("file", randomBytes(300_000))
        // The mailbox is full for now: both wait, other messages do not.
        let full = world.shell("alice", "echo look | \(Self.send)")
        #expect(full.status == 75 && world.errors.contains("queued"), "\(world.errors)")
        try world.expect("alice", "echo hello | encrypt --to bob.card -q | send -q | grep stored")
        let got = try world.expect("bob", "recv -q | decrypt -q")
        #expect(Correspondence.texts(got) == ["hello"])
        let listed = try world.expect("alice", "send --list --json")
        let kinds = listed.compactMap {
            (try? JSON.object(parsing: Array($0.utf8)))?["kind"]?.string
        }
        #expect(kinds == ["blob", "envelope"])
        // The envelope is of no use without its file. The list shows the beginning of the file's id.
        let id = try #require(
            try world.expect("alice", "send --list --text").dropFirst().first?.split(separator: " ")
                .first)
        #expect(id.hasSuffix("…"))
        try world.expect("alice", "send --drop \(id)")
        #expect(world.shell("alice", "send --list").status == 1)
        #expect(try kept(world).count == 1)
        world.stop()
    }

    @Test func aRelayWithoutBlobsRejectsTheMessage() throws {
        let world = try Correspondence(["--blob-bytes", "0"])
        world.scratch.write("file", randomBytes(100))
        let run = world.shell("alice", "echo look | \(Self.send)")
        #expect(run.status == 15, "\(world.errors)")
        #expect(run.lines.filter { $0.contains("rejected") }.count == 2)
        #expect(world.errors.contains("it takes no files"), "\(world.errors)")
        #expect(world.shell("alice", "send --list").status == 1)
        #expect(world.shell("bob", "recv -q").status == 1)
        world.stop()
    }

    @Test func aFileOfTheStateThatIsGoneIsReported() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(100))
        try world.expect("alice", "encrypt --to bob.card --attach file -q < /dev/null > lines")
        try world.expect("alice", "rm $SOTTO_HOME/blobs/*")
        let run = world.shell("alice", "send -q < lines")
        #expect(run.status == 15 && run.lines.allSatisfy { $0.contains("no_file") })
        world.stop()
    }

    /// A record can be sent again: the relay has the file already.
    @Test func aRecordCanBeSentTwice() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(100_000))
        try world.expect("alice", "encrypt --to bob.card --attach file -q < /dev/null > lines")
        try world.expect("alice", "send -q < lines")
        let again = try world.expect("alice", "send -q < lines")
        #expect(again.count == 2 && again.allSatisfy { $0.contains("duplicate") })
        world.stop()
    }

    @Test func anUnreachableRelayKeepsTheFile() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(200_000))
        let dead = "export SOTTO_RELAY=tcp://127.0.0.1:1"
        #expect(world.shell("alice", "\(dead); echo look | \(Self.send)").status == 75)
        #expect(try world.expect("alice", "\(dead); send --list --text | wc -l") == ["3"])
        #expect(world.shell("alice", "\(dead); send -q < /dev/null").status == 75)
        let address = world.relay.address
        // The queue belongs to the address.
        world.stop()
        let place = TemporaryDirectory()
        let relay = try #require(RelayProcess(place, listen: address))
        #expect(try world.expect("alice", "send --list --text | wc -l") == ["3"])
        relay.end()
    }

    @Test func twoDownloadsAtOnce() throws {
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(2_000_000))
        let message = try sendFile(world)
        let commands = (0..<4).map { number in
            world.command(
                "bob", "/bin/sh", ["-c", "cd \"$CARDS\" && recv --blob message"],
                output: "got\(number)")
        }
        let statuses = commands.map { $0.wait() }
        #expect(statuses.contains(0) && statuses.allSatisfy { [0, 75].contains($0) })
        for (number, status) in statuses.enumerated() where status == 0 {
            world.scratch.write("blob", contents(world, "got\(number)"))
            try world.expect("bob", "decrypt --attachment message -o got blob")
            #expect(contents(world, "got") == contents(world, "file"))
        }
        _ = message
        world.stop()
    }

    /// A full disk at the relay defers the file; it continues when there is space.
    @Test(.enabled(if: SmallDisk.canBeMounted))
    func aFullDiskDefersTheFile() throws {
        let disk = try #require(SmallDisk())
        let relay = try #require(RelayProcess(disk.scratch))
        let world = World(address: relay.address)
        let curl = { (bytes: Int) -> String in
            world.scratch.write("file", randomBytes(bytes))
            let id = hex(randomBytes(32))
            _ = ChildProcess.run(
                "/usr/bin/curl",
                [
                    "-s", "-o", world.scratch("answer"), "-w", "%{http_code}", "-T",
                    world.scratch("file"),
                    "http://\(relay.address)/api/blobs/\(id)?to=\(world.bob.id)",
                ])
            return String(
                decoding: TemporaryDirectory.contents(world.scratch("answer")), as: UTF8.self)
        }
        #expect(curl(100_000).contains("\"have\":100000"))
        #expect(curl(5_000_000).contains("disk_full"))
        // Mail still fits.
        let ids = world.envelopes("in", 5)
        #expect(world.run("send", input: "in") == 0, "\(world.errors)")
        #expect(world.run("recv", output: "got") == 0 && world.ids("got") == ids)
        #expect(relay.end() == 0)
    }

    /// A full disk of the recipient leaves what was fetched, and the next attempt continues when there is space.
    @Test(.enabled(if: SmallDisk.canBeMounted))
    func aFullDiskOfTheRecipientStopsTheDownload() throws {
        let disk = try #require(SmallDisk())
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(2_000_000))
        _ = try sendFile(world)
        let filler = disk.scratch("filler")
        let fetch = "export SOTTO_HOME='\(disk.scratch.path)/state'; recv --blob message > got"
        try world.expect("bob", "head -c 2000000 /dev/zero > '\(filler)'")
        let full = world.shell("bob", fetch)
        #expect(full.status == 74 && world.errors.contains("space"), "\(world.errors)")
        #expect(contents(world, "got").isEmpty)
        try world.expect("bob", "rm '\(filler)'")
        try world.expect("bob", "\(fetch); decrypt --attachment message -o opened got")
        #expect(contents(world, "opened") == contents(world, "file"))
        world.stop()
    }

    @Test func aBackupHasTheBlobs() throws {
        let world = try Correspondence()
        let file = randomBytes(200_000)
        world.scratch.write("file", file)
        _ = try sendFile(world)
        try world.expect("bob", "relay backup --store \(world.storePath) -o backup.db")
        try world.expect("bob", "relay backup --store \(world.storePath) -o backup.db -q")
        try world.expect(
            "bob", "relay check --store backup.db --listen 127.0.0.1:0 | grep '1 blobs'")
        world.stop()
        let relay = try #require(
            RelayProcess(
                TemporaryDirectory(), listen: world.relay.address,
                store: world.scratch("backup.db")))
        try world.expect("bob", "recv --blob message | decrypt --attachment message -o got")
        #expect(contents(world, "got") == file)
        relay.end()
    }
}
