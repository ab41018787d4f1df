import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import TestSupport
import Testing

/// Tests of contacts with accounts in other messengers, from those messengers' own codes.
struct ContactProfileTests {
    struct BoxVectors: Decodable {
        struct Account: Decodable {
            let name: String
            let mnemonic: String
        }
        struct URL: Decodable {
            let url: String
            let id: String?
            let key: Hex?
            let skey: Hex?
            let accept: Bool
        }
        struct Backup: Decodable {
            let owner: String
            let nonce: String
            let ciphertext: String
            let fileFormHex: Hex
        }
        let identities: [Account]
        let qrUrls: [URL]
        let contactsBackup: Backup
    }
    struct QRVectors: Decodable {
        struct Known: Decodable {
            let uid: String
            let identityKey: Hex
            let payload: Hex
            let accept: Bool
        }
        struct MustFail: Decodable {
            let why: String
            let payload: Hex
        }
        let kecalekBinary: [Known]
        let kecalekMustFail: [MustFail]
    }
    static let box: BoxVectors = Vectors.load("box")
    static let qr: QRVectors = Vectors.load("qr")
    static let whisperID = "WSP-YS3T-HJGR-KQBZ"
    static let otherID = "WSP-WI7U-4VDX-HXY2"

    let home: Home
    init() throws { home = try Home(people: "alice", "bob", "carol") }

    func contact(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("contact", arguments + ["-i", "alice.key"], stdin: .whole(stdin))
    }

    func must(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        let run = try home.run("contact", arguments + ["-i", "alice.key"], stdin: .whole(stdin))
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    func bridge(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("bridge", arguments + ["-i", "alice.key"], stdin: .whole(stdin))
    }

    func mustBridge(_ arguments: String...) throws -> Run {
        let run = try home.run("bridge", arguments + ["-i", "alice.key"])
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    func shown(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: must("show", "--json", name).stdout)
    }

    func list() throws -> [JSONObject] {
        try contact("list", "--json").stdout.split(separator: 10).map {
            try JSON.object(parsing: Array($0))
        }
    }

    func url(_ name: String, id: String = whisperID) throws -> String {
        let run = try home.run(
            "bridge", ["account", "whisper2", "--whisper-id", id, "\(name).key"])
        return run.lines[0]
    }

    func code(_ name: String, user: String) throws -> [UInt8] {
        try home.output(
            "bridge", ["account", "kecalek", "--user-id", user, "\(name).key"])
    }

    func withoutSigningKey(_ url: String) -> String {
        String(url[..<(url.firstRange(of: "&skey=")?.lowerBound ?? url.endIndex)])
    }

    // MARK: Whisper2

    @Test func aURLIsAcceptedAsAnArgumentAFileOrAPicture() throws {
        let url = try url("bob")
        home.files.write("bob.url", Array((url + "\r\n").utf8))
        _ = try home.output("qr", ["-o", "bob.png"], stdin: Array(url.utf8))
        let key = try #require(Whisper2AddURL.contact(url).signingKey)
        for form in ["argument", "file", "picture"] {
            switch form {
            case "argument": _ = try must("add", "--name", "bob", url)
            case "file": _ = try must("add", "--name", "bob", "bob.url")
            default:
                let runs = try Command.pipeline([
                    home.command("qr", ["scan", "bob.png"]),
                    home.command("contact", ["add", "--name", "bob", "-i", "alice.key"]),
                ])
                #expect(runs.map(\.status) == [0, 0], "\(runs.map(\.stderr))")
            }
            let record = try shown("bob")
            #expect(record["id"]?.string == KeyID(publicKey: key).description)
            #expect(record["card"] == nil && record["trust"] == .string("trusted"))
            let profile = record["profiles"]?.object?["whisper2"]?.object
            #expect(profile?["id"] == .string(Self.whisperID))
            #expect(profile?["skey"] == .string(Base64.standard.encode(key)))
            #expect(
                try must("show", "--text", "bob").text.contains("whisper2     \(Self.whisperID)\n"))
            #expect(try must("list", "--text").text.contains("no card, whisper2"))
            _ = try must("remove", "bob")
        }
    }

    @Test(arguments: box.qrUrls.indices)
    func knownURLsAreAcceptedWithAndWithoutTheirSigningKey(_ index: Int) throws {
        let known = Self.box.qrUrls[index]
        let run = try contact("add", "--name", "x", stdin: Array(known.url.utf8))
        guard known.accept else {
            #expect(run.status == 65, "\(known.url): \(run.stderr)")
            #expect(try list().isEmpty)
            return
        }
        #expect(run.status == 0, "\(run.stderr)")
        let account = try Whisper2AddURL.contact(known.url)
        let id = known.skey.map { "05" + hex($0.bytes) } ?? account.id.accountID.description
        let record = try shown("x")
        #expect(record["id"]?.string == id)
        #expect(record["trust"] == .string(known.skey == nil ? "unverified" : "trusted"))
    }

    @Test func aURLNeedsAName() throws {
        let run = try contact("add", try url("bob"))
        #expect(run.status == 64 && run.stderr.contains("--name"))
        #expect(try contact("add", withoutSigningKey(try url("bob"))).status == 64)
        // A refused account creates no state.
        #expect(!home.files.exists("state"))
        #expect(try list().isEmpty)
    }

    @Test func aKnownWhisperIDWithOtherKeysIsAChangedKey() throws {
        _ = try must("add", "--name", "bob", url("bob"))
        let before = try list()
        let other = try url("carol")
        for url in [other, withoutSigningKey(other)] {
            let run = try contact("add", "--name", "carol", url)
            #expect(run.status == 12 && run.stderr.contains("contact remove bob"), "\(run.stderr)")
        }
        // The same keys under another name from the server are not the same account.
        #expect(try contact("add", "--name", "bob", try url("bob", id: Self.otherID)).status == 12)
        // A different person with the same name is not the same account either.
        let named = try contact("add", "--name", "bob", try url("carol", id: Self.otherID))
        #expect(named.status == 12, "\(named.stderr)")
        #expect(try list() == before)
        // A known account is still known without the signing key.
        for url in [try url("bob"), withoutSigningKey(try url("bob"))] {
            #expect(try must("add", "--name", "bob", url).stderr.contains("is already a contact"))
        }
        #expect(try list() == before)
    }

    @Test func aCardThatClaimsAnothersAccountIsRefused() throws {
        _ = try must("add", "--name", "bob", url("bob"))
        let card = try home.output(
            "bridge",
            ["card", "whisper2", "--whisper-id", Self.whisperID, "-i", "carol.key"])
        let run = try contact("add", stdin: card)
        #expect(run.status == 12 && run.stderr.contains("bob"), "\(run.stderr)")
        #expect(try list().count == 1)
    }

    @Test func aChangedKeyThatClaimsAnothersAccountIsNotAccepted() throws {
        _ = try must("add", "--name", "bob", url("bob"))
        _ = try must("add", "carol.card")
        #expect(try home.run("keygen", ["-q", "--name", "carol", "-o", "new.key"]).status == 0)
        let claim = { (id: String) in
            try home.output(
                "bridge", ["card", "whisper2", "--whisper-id", id, "-i", "new.key"])
        }
        #expect(try contact("add", stdin: try claim(Self.whisperID)).status == 12)
        let refused = try contact("accept-key", "carol")
        #expect(
            refused.status == 12 && refused.stderr.contains("account of bob"), "\(refused.stderr)")
        #expect(try contact("add", stdin: try claim(Self.otherID)).status == 12)
        _ = try must("accept-key", "carol")
        #expect(try shown("carol")["profiles"]?.object?["whisper2"] != nil)
    }

    @Test func theStateFindsTheOwnerOfAnAccount() throws {
        _ = try must("add", "--name", "bob", url("bob"))
        _ = try must("add", stdin: try code("carol", user: "caro"))
        let owner = try Identity(record: JSON.object(parsing: home.files.read("alice.key")))
        let store = try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: owner, lockTimeout: 10)
        try store.transaction { transaction in
            let known = try #require(WhisperID(Self.whisperID))
            let unknown = try #require(WhisperID(Self.otherID))
            let contacts = try transaction.allContacts()
            func owner(_ id: WhisperID) -> Contact? {
                contacts.first { $0.profiles.whisper2?.id == id }
            }
            func owner(_ user: String) -> Contact? {
                contacts.first { $0.profiles.kecalek == user }
            }
            #expect(owner(known)?.name == "bob")
            #expect(owner(unknown) == nil)
            #expect(owner("caro")?.name == "caro")
            #expect(owner("Caro") == nil)
        }
    }

    @Test func theAccountOnACardIsKnownByItsURL() throws {
        let card = try home.output(
            "bridge",
            ["card", "whisper2", "--whisper-id", Self.whisperID, "-i", "bob.key"])
        _ = try must("add", stdin: card)
        let run = try must("add", "--name", "other", try url("bob"))
        #expect(run.stderr.contains("bob (05") && run.stderr.contains("is already a contact"))
        #expect(try list().count == 1)
        #expect(try shown("bob")["profiles"]?.object?["whisper2"] != nil)
    }

    @Test func ourOwnAccountsAreRefused() throws {
        #expect(try contact("add", "--name", "me", try url("alice")).status == 64)
        #expect(try contact("add", stdin: try code("alice", user: "alice")).status == 64)
        #expect(try list().isEmpty)
    }

    @Test(arguments: [["encrypt", "-r"], ["encrypt", "-i", "alice.key", "--to"], ["fingerprint"]])
    func aURLIsACardOnlyForContactAndBridge(_ command: [String]) throws {
        let run = try home.run(
            command[0], Array(command.dropFirst()) + [try url("bob")], text: "x")
        #expect(
            run.status == 64 && run.stderr.contains("sotto contact add --name NAME URL"),
            "\(run.stderr)")
    }

    // MARK: Kecalek

    @Test func kecaleksCodeGoesFromPictureToContact() throws {
        _ = try Command.pipeline([
            home.command(
                "bridge", ["account", "kecalek", "--user-id", "žofie", "bob.key"]),
            home.command("qr", ["-o", "bob.png"]),
        ])
        let runs = try Command.pipeline([
            home.command("qr", ["scan", "bob.png"]),
            home.command("contact", ["add", "-i", "alice.key"]),
        ])
        #expect(runs.map(\.status) == [0, 0], "\(runs.map(\.stderr))")
        let record = try shown("žofie")
        #expect(record["profiles"]?.object?["kecalek"]?.object?["userId"] == .string("žofie"))
        #expect(record["card"] == nil)
        // It is the identity's own key: the card with the same id completes it.
        _ = try must("add", "bob.card")
        #expect(try list().count == 1)
        #expect(try shown("žofie")["card"] != nil)
        #expect(try shown("žofie")["profiles"] != nil)
    }

    @Test(arguments: qr.kecalekBinary.indices)
    func knownCodesAreAccepted(_ index: Int) throws {
        let known = Self.qr.kecalekBinary[index]
        home.files.write("code", known.payload.bytes)
        let run = try contact("add", "--name", "x", "code")
        #expect(run.status == (known.accept ? 0 : 65), "\(run.stderr)")
        guard known.accept else { return }
        #expect(try shown("x")["id"]?.string == "05" + hex(known.identityKey.bytes))
        let profile = try shown("x")["profiles"]?.object?["kecalek"]?.object
        #expect(profile?["userId"]?.string == known.uid)
    }

    @Test(arguments: qr.kecalekMustFail.indices)
    func invalidCodesAddNoContact(_ index: Int) throws {
        let bad = Self.qr.kecalekMustFail[index]
        let run = try contact("add", "--name", "x", stdin: bad.payload.bytes)
        #expect(run.status == 65, "\(bad.why): \(run.stderr)")
        #expect(try list().isEmpty)
    }

    @Test func aKnownUserWithAnotherKeyIsAChangedKey() throws {
        _ = try must("add", stdin: try code("bob", user: "bob"))
        let before = try list()
        let run = try contact("add", "--name", "carol", stdin: try code("carol", user: "bob"))
        #expect(run.status == 12 && run.stderr.contains("contact remove bob"), "\(run.stderr)")
        #expect(try contact("add", stdin: try code("bob", user: "robert")).status == 12)
        #expect(try list() == before)
        #expect(
            try must("add", stdin: try code("bob", user: "bob")).stderr.contains(
                "is already a contact"))
    }

    @Test func aCodeCompletesAContact() throws {
        _ = try must("add", "bob.card")
        #expect(try shown("bob")["profiles"] == nil)
        let run = try must("add", stdin: try code("bob", user: "bob@example.org"))
        #expect(run.stderr.contains("stored the new account of bob"))
        let record = try shown("bob")
        #expect(
            record["profiles"]?.object?["kecalek"]?.object?["userId"] == .string("bob@example.org"))
        #expect(record["card"] != nil)
        #expect(try must("show", "--text", "bob").text.contains("kecalek      bob@example.org\n"))
    }

    @Test func theAccountsSurviveABackup() throws {
        _ = try must("add", "--name", "bob", url("bob"))
        _ = try must("add", stdin: try code("carol", user: "caro"))
        let before = try list()
        _ = try must("export", "--backup", "-o", "backup")
        _ = try must("remove", "bob")
        _ = try must("remove", "caro")
        _ = try must("import", "backup")
        #expect(try list() == before)
    }

    // MARK: Whisper2's backup

    @Test(arguments: [false, true])
    func whisper2sBackupIsRestored(_ isJSON: Bool) throws {
        _ = try must("add", "--name", "bob", url("bob"))
        _ = try must("add", "--name", "carol", url("carol", id: Self.otherID))
        _ = try must("add", "--name", "plain", "bob.card")
        let whisper = { try list().filter { $0["profiles"] != nil } }
        let before = try whisper().map { $0["id"] }
        let form = isJSON ? ["--json"] : []
        let made = try home.run(
            "bridge", ["export", "contacts", "-o", "backup", "-i", "alice.key"] + form)
        #expect(made.status == 0, "\(made.stderr)")
        _ = try must("remove", "bob")
        _ = try must("remove", "carol")
        #expect(try mustBridge("import", "contacts", "backup").stderr.contains("2 contacts added"))
        #expect(try whisper().map { $0["id"] } == before)
        #expect(
            try mustBridge("import", "contacts", "backup").stderr.contains(
                "bob is already a contact"))
        let other = try home.run("bridge", ["import", "contacts", "backup", "-i", "bob.key"])
        #expect(other.status == 10, "\(other.stderr)")
        var changed = try home.files.read("backup")
        if !isJSON {
            changed[30] ^= 1
            #expect(try bridge("import", "contacts", stdin: changed).status == 10)
            #expect(
                try bridge("import", "contacts", stdin: Array(changed[..<39])).status == 65)
        }
    }

    @Test func theKnownBackupOpensAndNamesTheMissingMembers() throws {
        let known = Self.box.contactsBackup
        for owner in ["alice", "bob"] {
            let words = try #require(Self.box.identities.first { $0.name == owner }).mnemonic
            _ = try home.run("keygen", ["recover", "-q", "-o", "\(owner).known"], text: words)
        }
        let record = JSONObject([
            ("nonce", .string(known.nonce)), ("ciphertext", .string(known.ciphertext)),
        ])
        for bytes in [known.fileFormHex.bytes, record.serialized()] {
            // The app's own entry has no keys: its server knows them.
            let run = try home.run(
                "bridge", ["import", "contacts", "-i", "\(known.owner).known"],
                stdin: .whole(bytes))
            #expect(run.status == 65 && run.text.contains("publicKey"), "\(run.stderr)")
            let other = try home.run(
                "bridge", ["import", "contacts", "-i", "bob.known"], stdin: .whole(bytes))
            #expect(other.status == 10, "\(other.stderr)")
        }
    }

    @Test func aBackupIsBinaryAndNotEmpty() throws {
        #expect(try bridge("export", "contacts").status == 1)
        _ = try must("add", "bob.card")
        #expect(try bridge("export", "contacts").status == 1)
        _ = try must("add", "--name", "carol", url("carol"))
        let shown = try TerminalSession(
            home.command("bridge", ["export", "contacts", "-i", "alice.key"])
        ).finish()
        #expect(shown.status == 64 && shown.text.contains("refusing to write binary data"))
        #expect(try bridge("export", "contacts", "--unprotected").status == 64)
        #expect(try bridge("export", "rsa", "--json").status == 64)
    }
}
