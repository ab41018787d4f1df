import Foundation
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Comparison with pyca/cryptography and openssl in both directions, on random input.
struct MercurioPeerTests {
    static let sizes = [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 10_000_000]

    @Test(.needs(.pythonPackages), arguments: sizes)
    func messagesAreReadOnBothSides(_ size: Int) throws {
        let pair = try MercurioPair()
        let pem = MercurioVectors.file.rsaPrivatePkcs8Pem
        try withGenerator { generator in
            let content = generator.bytes(size).map { 0x20 + $0 % 90 }
            let sent = try MercurioMessage.seal(content, from: pair.alice, to: pair.bundle)
            var request = ["op": "mercurio_open", "pem": pem]
            for (name, spelled) in [
                ("conversationId", "conversation"), ("senderMercurioId", "sender"),
                ("recipientMercurioId", "recipient"), ("encryptedContent", nil),
                ("encryptedAesKey", nil), ("nonce", nil), ("mac", nil), ("sig", nil),
            ] {
                request[spelled ?? name] = sent.record[name]?.string
            }
            #expect(try Peers.ask(request).bytes("m") == content, generator.comment)

            request = [
                "op": "mercurio_seal", "pem": pair.key.publicKey.pem, "m": Peers.text(content),
                "nonce": Peers.text(generator.bytes(12)),
                "seed": Peers.text(pair.alice.signing.withSeed { Array($0) }),
                "conversation": sent.conversation ?? "", "sender": pair.alice.id.description,
                "recipient": pair.bob.id.description,
            ]
            let answer = try Peers.ask(request)
            var record = sent.record
            for name in ["encryptedContent", "encryptedAesKey", "mac", "sig"] {
                record[name] = .string(answer[name])
            }
            record["nonce"] = request["nonce"].map { .string($0) }
            let opened = try MercurioMessage(record: record).open(with: pair.key, as: pair.bob.id)
            #expect(opened.text == content, generator.comment)
            #expect(opened.sender == pair.alice.id)
        }
    }

    @Test(.needs(.pythonPackages), arguments: MercurioPublicKey.sizes)
    func bundlesAndDecimalFormsMatchTheirs(_ bits: Int) throws {
        let pair = try MercurioPair()
        let key = try MercurioPrivateKey(bits: bits).publicKey
        let bundle = MercurioKeyBundle(key: key, by: pair.bob)
        let answer = try Peers.ask([
            "op": "mercurio_bundle", "pem": key.pem, "id": bundle.id.description,
            "sig": Peers.text(try #require(bundle.signature)),
        ])
        #expect(answer["modulus"] == key.text(.flutter).modulus)
        #expect(answer["exponent"] == "65537")
    }

    static let oaep = [
        "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256", "-pkeyopt",
        "rsa_mgf1_md:sha256",
    ]

    @Test(.needs(.openSSL), arguments: MercurioPublicKey.sizes)
    func keysAreWrappedAndUnwrappedByOpenssl(_ bits: Int) throws {
        let folder = TemporaryDirectory()
        func run(_ arguments: [String], _ input: [UInt8] = []) throws -> [UInt8] {
            try OpenSSL.run(arguments, stdin: input)
        }
        // Sotto's key in openssl, and openssl's key in Sotto, in both forms.
        let own = try MercurioPrivateKey(bits: bits)
        folder.write("key", own.pem().withBytes { Array($0) })
        let theirs = try run([
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)",
        ])
        let read = try MercurioPrivateKey(pem: String(decoding: theirs, as: UTF8.self))
        let pkcs1 = try run(["rsa", "-traditional", "-outform", "DER"], theirs)
        #expect(try MercurioPrivateKey(file: pkcs1).publicKey == read.publicKey)
        let spki = try run(["pkey", "-pubout"], theirs)
        #expect(
            try MercurioPublicKey(pem: String(decoding: spki, as: UTF8.self)) == read.publicKey)
        folder.write("public", Array(own.publicKey.pem.utf8))
        try withGenerator { generator in
            // The longest secret is two hashes and two bytes shorter than the modulus.
            for size in [0, 1, 15, 16, 17, 32, bits / 8 - 66] {
                let secret = generator.bytes(size)
                let wrapped = try #require(own.publicKey.wrap(bytes: secret))
                #expect(
                    try run(["pkeyutl", "-decrypt", "-inkey", folder("key")] + Self.oaep, wrapped)
                        == secret, generator.comment)
                let back = try run(
                    ["pkeyutl", "-encrypt", "-pubin", "-inkey", folder("public")] + Self.oaep,
                    secret)
                if let unwrapped = own.unwrap(back, padding: .sha256) {
                    #expect(unwrapped.withBytes { Array($0) } == secret, generator.comment)
                } else {
                    Issue.record("\(size) bytes: unwrapping failed")
                }
                if own.unwrap(back, padding: .sha1) != nil { Issue.record("as SHA-1") }
            }
            let long = generator.bytes(bits / 8 - 65)
            #expect(own.publicKey.wrap(bytes: long) == nil)
        }
    }
}
