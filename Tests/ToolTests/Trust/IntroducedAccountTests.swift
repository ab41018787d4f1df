import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import TestSupport
import Testing

/// Attacks on Alice's trust in Bob: Mallory gives her files and URLs that name Mallory's keys as Bob's.
struct IntroducedAccountTests {
    let accounts: Accounts
    let mallory: Party
    private static let rsa = Result { try MercurioPrivateKey(bits: 2048) }

    private var home: Home { accounts.home }
    private var alice: Party { accounts.alice }
    private var bob: Party { accounts.bob }

    init() throws {
        accounts = try Accounts()
        let identity = Identity(
            mnemonic: Mnemonic(randomWordCount: 24), name: "mallory",
            others: Identity.members(whisperID: .random(), rsaKey: try Self.rsa.get()))
        accounts.home.files.write("mallory.key", identity.record.serialized(), mode: 0o600)
        try accounts.home.files.write(
            "mallory.card", #require(identity.card().record).serialized())
        mallory = Party(name: "mallory", identity: identity, home: accounts.home)
        // Bob's genuine card, without accounts.
        try accounts.home.files.write(
            "plain.card", #require(accounts.bob.identity.card().record).serialized())
    }

    // MARK: Mallory's tools

    private func whisper2(_ party: Party) throws -> Whisper2Contact {
        try party.identity.whisper2Keys().contact(try #require(try party.identity.whisperID()))
    }

    private func mercurio(_ party: Party) throws -> MercurioKeyBundle {
        let key = try #require(try party.identity.rsaKey()).publicKey
        return MercurioKeyBundle(key: key, by: try party.identity.mercurioIdentity())
    }

    private func malloryProfiles() throws -> Profiles {
        Profiles(whisper2: try whisper2(mallory), mercurio: try mercurio(mallory))
    }

    /// A `contact-entry` with a genuine card and unsigned accounts.
    private func entry(
        _ name: String, of party: Party, _ profiles: Profiles,
        _ change: (inout JSONObject) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var contact = Contact(
            name: name, id: party.identity.id, card: party.identity.card(), trust: .verified)
        contact.learned = profiles
        var record = contact.record
        try change(&record)
        return record.serialized()
    }

    private func must(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        let run = try alice.run("contact", arguments, stdin: stdin)
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    private func verify(_ name: String, _ party: Party) throws -> Run {
        let digits = try home.output("fingerprint", ["--with", "alice.card", party.card])
        return try must("verify", name, String(decoding: digits, as: UTF8.self))
    }

    private func shown(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: must("show", "--json", name).stdout)
    }

    /// Runs Alice's `bridge seal FORMAT`.
    private func seal(_ format: String, _ more: String...) throws -> Run {
        try alice.run("bridge", ["seal", format, "-q"] + more, stdin: Array("a secret".utf8))
    }

    private func message(_ format: String) throws -> [UInt8] {
        let run = try mallory.run(
            "bridge", ["seal", format, "-q", "--to", "alice.card"],
            stdin: Array("it is me, bob".utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.stdout
    }

    /// Runs Alice's `bridge open FORMAT`.
    private func open(_ format: String, _ record: [UInt8], _ more: String...) throws -> Run {
        try alice.run("bridge", ["open", format] + more, stdin: record)
    }

    /// Expects that no message of Mallory's is accepted as Bob's, and that no message for Bob is encrypted to Mallory.
    private func expectThatMalloryIsNotBob() throws {
        for format in ["whisper2", "mercurio"] {
            for policy in [[], ["--trust", "verified"], ["--trust", "first-use"]] {
                let run = try alice.run(
                    "bridge", ["seal", format, "-q", "--to", "bob"] + policy,
                    stdin: Array("a secret".utf8))
                #expect(run.status == 12 && run.stdout.isEmpty, "\(format) \(policy)")
            }
            let line = try message(format)
            for policy in ["verified", "first-use"] {
                let run = try open(format, line, "--text", "--trust", policy)
                #expect(run.stdout.isEmpty && !run.stderr.contains("bob"), "\(run.stderr)")
            }
            let demanded = try open(format, message(format), "--from", "bob")
            #expect(demanded.status == 12, "\(format): \(demanded.text)")
            let shown = try open(format, line, "--trust", "any")
            let record = try accounts.record(shown)
            #expect(record["name"] == nil && record["trust"] == .string("unverified"))
            #expect(record["from"] != .string(bob.identity.id.description))
        }
    }

    // MARK: Accounts that other programs stored

    /// Only `contact` and `bridge` prove accounts. What another program stored of them is proven before its first use, and
    /// a comparison never covers it.
    @Test func aFalseAccountThatAnotherProgramStoredIsNotUsed() throws {
        // Mallory's own card names an account without the proof of its key.
        var claimed = Profiles(whisper2: try whisper2(bob)).object
        claimed["mercurio"] = nil
        let card = mallory.identity.card(accounts: claimed)
        let store = try IdentityStore(
            directory: StateDirectory(path: home.files(alice.stateDirectory)),
            identity: alice.identity,
            lockTimeout: 10)
        try store.transaction {
            try $0.save(
                Contact(name: "mallory", id: card.id, card: card, trust: .verified))
        }
        for policy in ["any", "first-use", "verified"] {
            let run = try seal("whisper2", "--to", "mallory", "--trust", policy)
            #expect(run.status == 11 && run.stdout.isEmpty, "\(policy): \(run.stderr)")
        }
        let record = try shown("mallory")
        #expect(record["profiles"] == nil)
        #expect(record["verified"] == .array([.string("id"), .string("card")]))
    }

    // MARK: Files

    @Test func anImportedEntryNeverMakesAnotherKeyVerified() throws {
        _ = try must(
            "import",
            stdin: entry("bob", of: bob, malloryProfiles()) { $0["suite"] = .string("ratchet") })
        try expectThatMalloryIsNotBob()
        let run = try verify("bob", bob)
        #expect(run.stderr.contains("the comparison covers: id, card\n"), "\(run.stderr)")
        let account = try whisper2(mallory).id
        #expect(run.stderr.contains("not compared: the whisper2 account \(account)"))
        #expect(run.stderr.contains("not compared: the mercurio account"))
        #expect(try shown("bob")["verified"] == .array([.string("id"), .string("card")]))
        try expectThatMalloryIsNotBob()
        // The account is shown by its own name, and the entry's suite was not imported.
        let text = try open("whisper2", message("whisper2"), "--text", "--trust", "any")
        #expect(text.stderr.contains("from \(account) (unverified)"), "\(text.stderr)")
        let plain = try alice.run(
            "encrypt", ["--to", "bob", "--trust", "verified"], stdin: Array("x".utf8))
        #expect(try accounts.record(plain)["suite"] == .string("sealed"))
        // The export does not have it as Bob's account.
        #expect(try alice.run("bridge", ["export", "contacts"]).status == 1)
        // Alice can use it explicitly.
        #expect(try seal("whisper2", "--to", "bob", "--trust", "any").status == 0)
    }

    @Test func aBackupOfAnotherIdentityIsAnIntroduction() throws {
        let state = home.files("state-mallory")
        _ = try mallory.run("contact", ["import"], stdin: entry("bob", of: bob, malloryProfiles()))
        let digits = try home.output("fingerprint", ["--with", "mallory.card", bob.card])
        let number = String(decoding: digits, as: UTF8.self)
        #expect(try mallory.run("contact", ["verify", "bob", number]).status == 0, "\(state)")
        let backup = try mallory.run("contact", ["export", "--backup"]).stdout
        let opened = try mallory.run("decrypt", [], stdin: backup).stdout
        let forAlice = try mallory.run("encrypt", ["-r", "alice.card"], stdin: opened).stdout
        _ = try must("import", stdin: forAlice)
        #expect(try shown("bob")["trust"] == .string("trusted"))
        _ = try verify("bob", bob)
        try expectThatMalloryIsNotBob()
    }

    @Test func anEntryFromElsewhereOffersNoChangedKey() throws {
        let bytes = try entry("bob", of: bob, Profiles()) {
            $0["changed"] = .object(try #require(mallory.identity.card().record))
            $0["compared"] = .array([.string(mallory.identity.card().age.text)])
            $0["address"] = .string(hex([UInt8](repeating: 7, count: 16)))
        }
        _ = try must("import", stdin: bytes)
        let record = try shown("bob")
        #expect(record["changed"] == nil && record["address"] == nil)
        #expect(try alice.run("contact", ["accept-key", "bob"]).status == 1)
    }

    /// Carol's genuine account in an entry with Mallory's id: scanning Carol's screen verifies the account, and not
    /// Mallory.
    @Test func aScannedAccountDoesNotVerifyAnUnrelatedId() throws {
        _ = try must(
            "import",
            stdin: entry(
                "carol", of: mallory,
                Profiles(whisper2: try whisper2(bob), mercurio: try mercurio(bob))))
        let url = Whisper2AddURL.text(try whisper2(bob))
        let bundle = try mercurio(bob).record.serialized()
        for run in [
            try alice.run("contact", ["verify", "carol", "--scan", url]),
            try alice.run("contact", ["verify", "carol", "--scan"], stdin: bundle),
        ] {
            #expect(run.status == 12, "\(run.stderr)")
        }
        #expect(try shown("carol")["trust"] == .string("trusted"))
        // The account goes into the address book as a separate contact.
        _ = try must("add", "--name", "caro", url)
        #expect(try shown("caro")["id"] != .string(mallory.identity.id.description))
    }

    // MARK: URLs and codes

    @Test func aURLWithAContactsKeyDoesNotGiveItsEncryptionKey() throws {
        let forged = Whisper2AddURL.text(
            Whisper2Contact(
                id: try whisper2(mallory).id, encryptionKey: try whisper2(mallory).encryptionKey,
                signingKey: bob.identity.id.publicKey))
        for isVerified in [false, true] {
            _ = try must("add", "plain.card")
            if isVerified { _ = try verify("bob", bob) }
            let added = try must("add", "--name", "mallory", forged)
            #expect(added.stderr.contains("is not signed by bob"), "\(added.stderr)")
            for policy in [[], ["--trust", "verified"], ["--trust", "first-use"]] {
                for to in ["bob", forged] {
                    let run = try alice.run(
                        "bridge", ["seal", "whisper2", "-q", "--to", to] + policy,
                        stdin: Array("a secret".utf8))
                    #expect(run.status == 12 && run.stdout.isEmpty, "\(to) \(policy)")
                }
            }
            if isVerified {
                let sealed = try alice.run(
                    "encrypt", ["--suite", "sealed", "--to", "bob", "--trust", "verified"],
                    stdin: Array("a secret".utf8))
                #expect(sealed.status == 0, "\(sealed.stderr)")
            }
            _ = try must("remove", "bob")
        }
        // The other way round: first the URL, then the card, then the comparison.
        _ = try must("add", "--name", "bob", forged)
        let early = try alice.run(
            "contact",
            [
                "verify", "bob",
                String(
                    decoding: home.output("fingerprint", ["--with", "alice.card", bob.card]),
                    as: UTF8.self),
            ])
        #expect(early.status == 12, "\(early.stderr)")
        _ = try must("add", "plain.card")
        _ = try verify("bob", bob)
        let refused = try seal("whisper2", "--to", "bob")
        #expect(refused.status == 12 && refused.stdout.isEmpty)
    }

    @Test func anUnsignedRSAKeyIsNotBoundToAContact() throws {
        let key = try #require(try mallory.identity.rsaKey()).publicKey
        let text = key.text(.web)
        let forged = JSONObject([
            ("mercurio_id", .string(bob.identity.id.description)),
            ("modulus", .string(text.modulus)), ("exponent", .string(text.exponent)),
        ])
        _ = try must("add", "plain.card")
        _ = try must("add", stdin: forged.serialized())
        for round in 0..<2 {
            if round == 1 {
                let run = try verify("bob", bob)
                #expect(run.stderr.contains("not compared: the mercurio account"))
            }
            for policy in ["verified", "first-use"] {
                let run = try seal("mercurio", "--to", "bob", "--trust", policy)
                #expect(run.status == 12 && run.stdout.isEmpty)
            }
            #expect(try seal("mercurio", "--to", "bob").status == 12)
        }
    }

    @Test func aKecalekCodeGivesANameAndNoKey() throws {
        _ = try must("add", "plain.card")
        let code = try KecalekQR(
            userID: "mallory", identityKey: bob.identity.id.publicKey
        ).payload
        _ = try must("add", stdin: code)
        let run = try verify("bob", bob)
        #expect(run.stderr.contains("covers: id, card\n"), "\(run.stderr)")
        #expect(run.stderr.contains("not compared: the kecalek user id mallory"))
        // Bob's own card gives his name there.
        _ = try must("add", bob.card)
        #expect(try shown("bob").at("profiles", "kecalek", "userId") == .string("bob@kecalek"))
    }

    /// The id of an accepted request is verified, and a URI supplies an encryption key for it.
    @Test func aURIDoesNotGiveAVerifiedIdItsEncryptionKey() throws {
        _ = try must("add", "mallory.card")
        let id = bob.identity.id
        _ = try must("accept", id.description, "--name", "bob")
        _ = try verify("bob", bob)
        let forged = ContactURI(
            id: id, x25519: mallory.identity.card().age.publicKey, name: "bob"
        ).text
        for policy in [[], ["--trust", "verified"]] {
            let run = try alice.run(
                "encrypt", ["--to", forged] + policy, stdin: Array("a secret".utf8))
            #expect(run.status == 12 && run.stdout.isEmpty, "\(policy): \(run.stderr)")
        }
        #expect(try alice.run("encrypt", ["-r", forged, "-s"], stdin: [1]).status == 12)
        #expect(try alice.run("contact", ["add", forged]).status == 12)
    }

    // MARK: Requests and changed keys

    @Test func anIntroducedAccountsMessageWaitsUnderItsOwnId() throws {
        _ = try must("import", stdin: entry("bob", of: bob, malloryProfiles()))
        _ = try verify("bob", bob)
        let line = try message("whisper2")
        let waits = try open("whisper2", line, "--text")
        #expect(waits.status == 0 && waits.stdout.isEmpty, "\(waits.stderr)")
        let key = try #require(try whisper2(mallory).signingKey)
        let id = KeyID(publicKey: key)
        #expect(try must("requests", "--text").text.hasPrefix(id.description.prefix(16)))
        let envelope = try must("accept", id.description, "--name", "eve").stdout
        let read = try accounts.record(open("whisper2", envelope))
        #expect(read["name"] == .string("eve") && read["trust"] == .string("trusted"))
        #expect(read["from"] == .string(id.description))
        let strict = try open("whisper2", message("whisper2"), "--trust", "verified")
        #expect(strict.status == 12)
    }

    @Test func anAcceptedKeyDropsAccountsAndComparisons() throws {
        _ = try must("import", stdin: entry("bob", of: bob, malloryProfiles()))
        _ = try verify("bob", bob)
        #expect(try alice.run("contact", ["add", "--name", "bob", "mallory.card"]).status == 12)
        _ = try must("accept-key", "bob")
        let record = try shown("bob")
        #expect(record["trust"] == .string("trusted") && record["verified"] == nil)
        #expect(record["profiles"] == nil)
    }

    // MARK: Genuine accounts

    @Test func accountsOnASignedCardAreVerifiedWithIt() throws {
        _ = try must("add", bob.card)
        let run = try verify("bob", bob)
        #expect(
            run.stderr.contains("covers: id, card, kecalek, whisper2, mercurio\n"), "\(run.stderr)")
        for suite in ["whisper2", "mercurio"] {
            let made = try seal(suite, "--to", "bob", "--trust", "verified")
            #expect(made.status == 0, "\(made.stderr)")
            let answer = try bob.run(
                "bridge", ["seal", suite, "-q", "--to", "alice.card"],
                stdin: Array("yes".utf8))
            let read = try accounts.record(open(suite, answer.stdout, "--trust", "verified"))
            #expect(read["name"] == .string("bob") && read["trust"] == .string("verified"))
        }
    }

    @Test func aScannedCodeVerifiesTheKeysThatItShows() throws {
        let url = Whisper2AddURL.text(try whisper2(bob))
        _ = try must("add", "--name", "bob", url)
        #expect(try seal("whisper2", "--to", "bob").status == 0)
        #expect(try seal("whisper2", "--to", "bob", "--trust", "verified").status == 12)
        let run = try must("verify", "bob", "--scan", url)
        #expect(run.stderr.contains("covers: id, whisper2\n"), "\(run.stderr)")
        #expect(try seal("whisper2", "--to", "bob", "--trust", "verified").status == 0)
        let answer = try bob.run(
            "bridge", ["seal", "whisper2", "-q", "--to", "alice.card"], stdin: Array("yes".utf8))
        let read = try accounts.record(open("whisper2", answer.stdout, "--trust", "verified"))
        #expect(read["name"] == .string("bob"))
        // The identity's own backup restores the comparison, and unverify removes it.
        let backup = try must("export", "--backup").stdout
        _ = try must("remove", "bob")
        _ = try must("import", stdin: backup)
        #expect(try seal("whisper2", "--to", "bob", "--trust", "verified").status == 0)
        _ = try must("unverify", "bob")
        #expect(try seal("whisper2", "--to", "bob", "--trust", "verified").status == 12)
        #expect(try shown("bob")["verified"] == nil)
    }

    @Test func aSignedCardReplacesAnIntroducedAccount() throws {
        _ = try must("import", stdin: entry("bob", of: bob, malloryProfiles()))
        _ = try must("add", bob.card)
        let record = try shown("bob")
        #expect(record["changed"] == nil)
        #expect(
            record.at("profiles", "whisper2", "id")
                == .string(try whisper2(bob).id.description))
        #expect(try seal("whisper2", "--to", "bob").status == 0)
    }
}
