import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

struct MercurioMessageTests {
    @Test(arguments: MercurioPublicKey.sizes)
    func aMessageIsOpenedWithItsSender(_ bits: Int) throws {
        let pair = try MercurioPair()
        let key = try MercurioPrivateKey(bits: bits)
        let bundle = MercurioKeyBundle(key: key.publicKey, by: pair.bob)
        for text in ["", "ciao 👋", String(repeating: "x", count: 70_000)] {
            let message = try MercurioMessage.seal(
                Array(text.utf8), from: pair.alice, to: bundle, createdAt: "2026-11-21T09:30:00Z")
            let read = try MercurioMessage(
                record: JSON.object(parsing: message.record.serialized()))
            #expect(read == message && read.envelope.wrappedKey.count == bits / 8)
            #expect(read.envelope.content.count == text.utf8.count)
            let opened = try read.open(with: key, as: pair.bob.id)
            #expect(opened.text == Array(text.utf8) && opened.sender == pair.alice.id)
        }
        let other = try MercurioPair().key
        let message = try MercurioMessage.seal([1], from: pair.alice, to: bundle)
        #expect(throws: MercurioOpenError.authentication) {
            try message.open(with: other, as: pair.bob.id)
        }
        #expect(throws: MercurioOpenError.notForUs) {
            try message.open(with: key, as: pair.alice.id)
        }
        #expect(throws: MercurioSealError.notText) {
            try MercurioMessage.seal([0xC3], from: pair.alice, to: bundle)
        }
    }

    /// The document's spelling is the default, and both spellings are the same message.
    @Test func bothSpellingsAreOneMessage() throws {
        let pair = try MercurioPair()
        let message = try MercurioMessage.seal(
            Array("ciao".utf8), from: pair.alice, to: pair.bundle,
            createdAt: "2026-11-21T09:30:00Z")
        #expect(
            message.record.members.map(\.name) == [
                "conversationId", "senderMercurioId", "recipientMercurioId", "createdAt",
                "encryptedContent", "encryptedAesKey", "nonce", "mac", "sig",
            ])
        let row = message.record(spelled: .snakeCase)
        #expect(
            row.members.map(\.name) == [
                "conversation_id", "sender_mercurio_id", "recipient_mercurio_id", "created_at",
                "encrypted_content", "encrypted_aes_key", "nonce", "mac", "sig",
            ])
        #expect(try MercurioMessage(record: row) == message)
        let keys = MessengerKeys(identity: Sample.identity())
        let both = try [message.record, row].map { try MercurioFormat.envelope(of: $0, with: keys) }
        #expect(both[0].digest == both[1].digest && both[0].repeatID == both[1].repeatID)
        var mixed = message.record
        mixed["encrypted_content"] = mixed["encryptedContent"]
        #expect(throws: MercurioRecordError.duplicate("encryptedContent")) {
            try MercurioMessage(record: mixed)
        }
    }

    @Test(arguments: MercurioPublicKey.sizes)
    func aKeyIsReadBackFromItsPEM(_ bits: Int) throws {
        let key = try MercurioPrivateKey(bits: bits)
        let pem = text(key.pem())
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && pem.hasSuffix("-----\n"))
        let read = try MercurioPrivateKey(pem: pem)
        #expect(read.publicKey == key.publicKey)
        let wrapped = try #require(key.publicKey.wrap(bytes: [1, 2, 3]))
        if let secret = read.unwrap(wrapped, padding: .sha256) {
            #expect(secret.withBytes { Array($0) } == [1, 2, 3])
        } else {
            Issue.record("unwrapping failed")
        }
        #expect(try MercurioPublicKey(pem: key.publicKey.pem) == key.publicKey)
        for form in MercurioPublicKey.Form.allCases {
            let (modulus, exponent) = key.publicKey.text(form)
            #expect(
                try MercurioPublicKey(modulus: modulus, exponent: exponent) == key.publicKey)
        }
    }

    @Test func badKeysAreRefused() throws {
        for bits in [512, 1024, 2047, 4096] {
            #expect(throws: MercurioKeyError.size(bits: bits)) {
                try MercurioPrivateKey(bits: bits)
            }
        }
        let key = try MercurioVectors.key.get().publicKey
        let (modulus, exponent) = key.text(.web)
        func failure(_ modulus: String, _ exponent: String) -> MercurioKeyError? {
            do throws(MercurioKeyError) {
                _ = try MercurioPublicKey(modulus: modulus, exponent: exponent)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure(modulus, "Aw") == .exponent)
        #expect(failure(modulus, "65537") == .encoding)  // five characters are not base64
        #expect(failure(modulus, "") == .exponent)
        #expect(failure(key.text(.flutter).modulus, "AQAB") == .encoding)
        #expect(failure(key.text(.flutter).modulus, "3") == .exponent)
        #expect(failure("", exponent) == .size(bits: 0))
        #expect(failure("!", exponent) == .encoding)
        #expect(failure("12345", "65537") == .encoding)
        #expect(failure(String(repeating: "9", count: 926), "65537") == .encoding)
        #expect(failure("0" + key.text(.flutter).modulus, "65537") == .encoding)
        let short = Array(key.modulus.dropLast())
        #expect(failure(Base64.url.encode(short), exponent) == .size(bits: 2040))
        #expect(failure(Base64.url.encode([0, 0] + key.modulus), exponent) == .encoding)
        let even = Array(key.modulus.dropLast()) + [key.modulus.last! & 0xFE]
        #expect(failure(Base64.url.encode(even), exponent) == .encoding)
        let low = [key.modulus[0] & 0x7F] + key.modulus.dropFirst()
        if case .size(let bits)? = failure(Base64.url.encode(low), exponent) {
            #expect(bits < 2048)
        } else {
            Issue.record("a modulus of 2047 bits or less")
        }
        let private8 = text(try MercurioVectors.key.get().pem())
        for pem in ["", "-----BEGIN PUBLIC KEY-----", private8, "x" + key.pem] {
            #expect(throws: MercurioKeyError.encoding) { try MercurioPublicKey(pem: pem) }
        }
        let der = MercurioVectors.file.rsaPrivatePkcs1DerHex.bytes
        for bytes in [[], Array(der.dropLast()), der + [0], Array(der.dropFirst())] {
            #expect(throws: RSAKeyError.form) { try MercurioPrivateKey(file: bytes) }
        }
        for pem in ["", key.pem, private8.replacing("MII", with: "MIJ")] {
            #expect(throws: MercurioKeyError.encoding) { try MercurioPrivateKey(pem: pem) }
        }
    }

    @Test func wholeNumbersAreReadAndWrittenInDecimal() throws {
        try withGenerator { generator in
            for _ in 0..<20 {
                let number = [UInt8.random(in: 1...255, using: &generator)] + generator.bytes(50)
                let digits = DecimalInteger.text(number)
                #expect(DecimalInteger.bytes(digits) == number, generator.comment)
            }
        }
        #expect(DecimalInteger.text([1, 0, 1]) == "65537")
        #expect(DecimalInteger.bytes("256") == [1, 0])
        for bad in ["", "0", "01", "-1", "+1", "1 ", "１"] {
            #expect(DecimalInteger.bytes(bad) == nil)
        }
    }

    @Test func badMembersAreRefusedByName() throws {
        let pair = try MercurioPair()
        let record = try pair.message().record
        func bytes(_ count: Int) -> JSON {
            .string(Base64.standard.encode([UInt8](repeating: 1, count: count)))
        }
        let bad: [(String, [JSON?])] = [
            ("encryptedContent", [nil, .string("!"), .integer(1)]),
            ("encryptedAesKey", [nil, bytes(255), bytes(257), bytes(0)]),
            ("nonce", [nil, bytes(11), bytes(13)]), ("mac", [nil, bytes(15), bytes(17)]),
            ("sig", [bytes(63), .integer(1)]), ("senderMercurioId", [.string("05")]),
            ("recipientMercurioId", [.integer(5)]), ("conversationId", [.bool(true)]),
        ]
        for (name, values) in bad {
            for value in values {
                var changed = record
                changed[name] = value
                #expect(pair.failure(changed).isError(MercurioRecordError.member(name)), "\(name)")
            }
        }
        for (snake, camel) in [
            ("encrypted_content", "encryptedContent"), ("encrypted_aes_key", "encryptedAesKey"),
            ("sender_mercurio_id", "senderMercurioId"),
        ] {
            var changed = record
            changed[snake] = record[camel]
            #expect(pair.failure(changed).isError(MercurioRecordError.duplicate(camel)))
            changed[camel] = nil
            #expect(pair.failure(changed) == nil)
        }
    }

    @Test func aBundleBindsAKeyToItsOwner() throws {
        let pair = try MercurioPair()
        let record = pair.bundle.record
        let read = try MercurioKeyBundle(record: JSON.object(parsing: record.serialized()))
        #expect(read == pair.bundle && read.id == pair.bob.id)
        func failure(_ name: String, _ value: JSON?) -> MercurioKeyBundleError? {
            var changed = record
            changed[name] = value
            do throws(MercurioKeyBundleError) {
                _ = try MercurioKeyBundle(record: changed)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure("mercurio_id", nil) == .member("mercurio_id"))
        #expect(failure("mercurio_id", .string(pair.alice.id.description)) == .signature)
        #expect(failure("rsa_spki_pem", .string("x")) == .key(.encoding))
        #expect(failure("rsa_spki_pem", nil) == .member("rsa_spki_pem"))
        #expect(failure("sig", nil) == .member("sig"))
        #expect(failure("sig", .string(Base64.standard.encode(randomBytes(64)))) == .signature)
        let other = try MercurioPrivateKey(bits: 2048).publicKey
        #expect(failure("rsa_spki_pem", .string(other.pem)) == .signature)
    }
}
