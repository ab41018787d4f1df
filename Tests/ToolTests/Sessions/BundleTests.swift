import Sotto
import SottoState
import TestSupport
import Testing

/// Tests of invalid bundles, which do not begin a session.
struct BundleTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    private func begin(_ bundle: String, _ more: String...) throws -> Run {
        try alice.run(
            "encrypt", ["--to", bob.card, "--bundle", bundle] + more, stdin: Array("x".utf8))
    }

    private func expectRefused(
        _ bundle: String, _ status: Int32, _ more: String..., says text: String = ""
    ) throws {
        let run = try alice.run(
            "encrypt", ["--to", bob.card, "--bundle", bundle] + more, stdin: Array("x".utf8))
        #expect(run.status == status && run.stdout.isEmpty, "\(run.status) \(run.stderr)")
        #expect(run.stderr.contains(text), "\(run.stderr)")
        guard two.home.files.exists(alice.database) else { return }
        #expect(try alice.sessions().isEmpty)
    }

    private func change(
        _ bundle: inout JSONObject, _ preKey: String, _ name: String, _ value: JSON?
    ) throws {
        var inner = try #require(bundle[preKey]?.object)
        inner[name] = value
        bundle[preKey] = .object(inner)
    }

    @Test(arguments: ["signedPreKey", "pqSignedPreKey"])
    func aBadSignatureIs11(_ name: String) throws {
        for member in ["signature", "key", "timeSignature"] {
            try expectRefused(
                try bob.bundle { bundle in
                    let text = try #require(bundle[name]?.object?[member]?.string)
                    let bytes = try #require(Base64.standard.decode(text)).flipping(bit: 77)
                    try change(&bundle, name, member, .string(Base64.standard.encode(bytes)))
                }, 11)
        }
        try expectRefused(
            try bob.bundle {
                try change(&$0, name, "time", .string("2020-01-01T00:00:00Z"))
            }, 11)
    }

    @Test func aPostQuantumSignatureIsInvalidForX25519() throws {
        // The two signatures have different labels; swapped, they are forgeries.
        try expectRefused(
            try bob.bundle { bundle in
                let other = bundle["pqSignedPreKey"]?.object?["signature"]
                try change(&bundle, "signedPreKey", "signature", other)
            }, 11)
    }

    @Test func anotherOwnersBundleIs12() throws {
        let carol = try Party("carol", in: two.home)
        try expectRefused(try carol.bundle(), 12, says: "a different recipient")
        // With another owner's id, it contradicts itself.
        try expectRefused(
            try carol.bundle { $0["userId"] = .string(bob.identity.id.description) }, 65)
        // Under Bob's key, its signatures are not his.
        try expectRefused(
            try carol.bundle {
                $0["userId"] = .string(bob.identity.id.description)
                $0["identityKey"] = .string(
                    Base64.standard.encode(bob.identity.signingKey.publicKey))
            }, 11)
    }

    @Test func withoutItsPostQuantumKeyItIs12UnlessClassic() throws {
        let bundle = try bob.bundle { $0["pqSignedPreKey"] = nil }
        try expectRefused(bundle, 12, says: "--classic")
        #expect(try begin(bundle, "--classic").status == 0)
    }

    /// A card that cannot reveal a missing key does not change the result.
    @Test func withoutAPostQuantumKeyOnTheCardItIs12Too() throws {
        let bundle = try bob.bundle { $0["pqSignedPreKey"] = nil }
        let uri = try two.home.run("keygen", ["public", "--uri", "bob.key"]).lines[0]
        let arguments = ["--to", uri, "--bundle", bundle]
        #expect(try alice.run("encrypt", arguments, stdin: [0x78]).status == 12)
        let run = try alice.run("encrypt", arguments + ["--classic"], stdin: [0x78])
        #expect(run.status == 0 && run.stderr.contains("not post-quantum"))
    }

    @Test func aOneTimePreKeyCanBeRequired() throws {
        let bundle = try bob.bundle { $0["oneTimePreKey"] = .null }
        try expectRefused(bundle, 10, "--require-opk", says: "no one-time prekey")
        #expect(try begin(try bob.bundle(), "--require-opk").status == 0)
    }

    /// Returns a bundle whose signed prekeys have this age in days, or no date for `nil`.
    private func bundle(daysOld days: Int64?) throws -> String {
        let time = Timestamp(seconds: Timestamp.now().seconds - (days ?? 0) * 86_400 - 60)
        func preKey(_ kind: SecretPreKey.Kind) -> PreKeyBundle.SignedPreKey {
            let key = SecretPreKey(kind, id: 1).signed(by: bob.identity, at: time)
            guard days == nil else { return key }
            return PreKeyBundle.SignedPreKey(id: 1, key: key.key, signature: key.signature)
        }
        let bundle = try PreKeyBundle(
            identityKey: bob.identity.id.publicKey, signedPreKey: preKey(.signed),
            pqSignedPreKey: preKey(.postQuantum),
            oneTimePreKey: SecretPreKey(.oneTime, id: 1).publicHalf)
        two.home.files.write("dated", bundle.record.serialized())
        return "dated"
    }

    @Test(arguments: [0, 14, 15, 400] as [Int64])
    func anOldBundleCausesAWarning(_ days: Int64) throws {
        let run = try begin(try bundle(daysOld: days))
        #expect(run.status == 0)
        let warning = "warning: the bundle's signed prekey is \(days) days old"
        #expect(run.stderr.contains(warning) == (days > 14), "\(run.stderr)")
    }

    @Test func aBundleWithoutADateIsReported() throws {
        let run = try begin(try bundle(daysOld: nil))
        #expect(run.status == 0 && run.stderr.contains("signed prekeys is unknown"))
    }

    /// The X25519 prekey is new and the post-quantum one is old, or has no date.
    @Test(arguments: [nil, 0, 15] as [Int64?])
    func theAgeOfThePostQuantumPreKeyIsReported(_ days: Int64?) throws {
        let now = Timestamp.now()
        let time = Timestamp(seconds: now.seconds - (days ?? 0) * 86_400 - 60)
        let dated = SecretPreKey(.postQuantum, id: 1).signed(by: bob.identity, at: time)
        let bundle = try PreKeyBundle(
            identityKey: bob.identity.id.publicKey,
            signedPreKey: SecretPreKey(.signed, id: 1).signed(by: bob.identity, at: now),
            pqSignedPreKey: .init(
                id: 1, key: dated.key, signature: dated.signature,
                date: days == nil ? nil : dated.date), oneTimePreKey: nil)
        two.home.files.write("apart", bundle.record.serialized())
        let run = try begin("apart")
        #expect(run.status == 0 && run.stderr.contains("no signature over both prekeys"))
        #expect(run.stderr.contains("prekeys is unknown") == (days == nil), "\(run.stderr)")
        #expect(run.stderr.contains("is 15 days old") == (days == 15), "\(run.stderr)")
    }

    /// A relay cannot remove the signature over both prekeys of an owner who was seen with it. The post-quantum prekey goes
    /// with `--classic` alone.
    @Test func aBundleWithoutItsPairSignatureIs12AfterOneWithIt() throws {
        let bare = try bob.bundle { $0["pairSignature"] = nil }
        let classic = try bob.bundle { $0["pqSignedPreKey"] = nil }
        let first = try begin(bare)
        #expect(first.status == 0 && first.stderr.contains("no signature over both prekeys"))
        let signed = try begin(try bob.bundle(), "--new-session")
        #expect(signed.status == 0 && !signed.stderr.contains("note:"), "\(signed.stderr)")
        let refused = try begin(bare, "--new-session", "--classic")
        #expect(refused.status == 12 && refused.stdout.isEmpty, "\(refused.stderr)")
        #expect(refused.stderr.contains("an earlier bundle of the recipient had one"))
        #expect(try begin(classic, "--new-session").status == 12)
        #expect(try begin(classic, "--new-session", "--classic").status == 0)
        // Neither is kept for later.
        let store = try IdentityStore(
            directory: StateDirectory(path: two.home.files(alice.stateDirectory)),
            identity: alice.identity, lockTimeout: 20)
        func keep(_ name: String) throws -> PreKeyBundle? {
            let bundle = try PreKeyBundle(record: JSON.object(parsing: two.home.files.read(name)))
            return try store.transaction {
                try $0.keep(bundle)
                return try $0.freshBundle(of: bundle.owner)
            }
        }
        #expect(try keep(bare) == nil && keep(classic) == nil)
        #expect(try keep(bob.bundle()) != nil)
    }

    @Test func malformedBundlesAre65() throws {
        let good = try JSON.object(parsing: two.home.files.read(bob.bundle()))
        var changes: [(String, JSON?)] = [
            ("v", nil), ("v", .integer(2)), ("v", .string("1")), ("type", .string("card")),
            ("identityKey", nil), ("identityKey", .string("AAAA")), ("signedPreKey", nil),
            ("signedPreKey", .null), ("pqSignedPreKey", .string("")),
            ("oneTimePreKey", .object([:])), ("oneTimePreKey", .integer(1)),
            ("pairSignature", .string("")), ("pairSignature", .object([:])),
        ]
        for name in ["signedPreKey", "pqSignedPreKey"] {
            for (member, value) in [
                ("id", JSON.integer(-1)), ("id", .integer(1 << 32)), ("key", .string("AAAA")),
                ("signature", .string("AAAA")), ("time", .string("yesterday")),
                ("timeSignature", .null),
            ] {
                var inner = try #require(good[name]?.object)
                inner[member] = value
                changes.append((name, .object(inner)))
            }
        }
        for (name, value) in changes {
            var record = good
            record[name] = value
            two.home.files.write("bad", record.serialized())
            try expectRefused("bad", 65)
        }
        for text in ["", "{", "[]", "{}", "\u{0}"] {
            two.home.files.write("bad", Array(text.utf8))
            try expectRefused("bad", 65)
        }
        try expectRefused("missing", 66)
    }

    @Test func keysOfLowOrderAre11() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let signature = bob.identity.signingKey.sign(zero)
        try expectRefused(
            try bob.bundle { bundle in
                bundle["pairSignature"] = nil
                for member in ["time", "timeSignature"] {
                    try change(&bundle, "signedPreKey", member, nil)
                }
                try change(
                    &bundle, "signedPreKey", "key", .string(Base64.standard.encode(zero)))
                try change(
                    &bundle, "signedPreKey", "signature",
                    .string(Base64.standard.encode(signature)))
            }, 11)
        try expectRefused(
            try bob.bundle {
                try change(&$0, "oneTimePreKey", "key", .string(Base64.standard.encode(zero)))
            }, 11)
    }
}
