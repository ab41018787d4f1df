import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests/Vectors/hybrid.json, made with pyca/cryptography.
struct MercurioKnownAnswerTests {
    static let vectors = MercurioVectors.file

    @Test(arguments: vectors.messages, [false, true])
    func messagesAreOpened(_ known: MercurioVectors.Message, _ camelCase: Bool) throws {
        let pair = try MercurioPair()
        let message = try MercurioMessage(record: known.envelope.record(camelCase: camelCase))
        #expect(JSONObject(message.envelope.members(.snakeCase)) == known.envelope.record())
        let opened = try message.open(with: pair.key, as: pair.bob.id, allowUnproven: true)
        #expect(opened.text == Array(known.plaintext.utf8) && opened.sender == nil)
    }

    @Test(arguments: vectors.mustFail, MercurioPrivateKey.Padding.allCases)
    func badMessagesAreRefused(
        _ bad: MercurioVectors.Bad, _ padding: MercurioPrivateKey.Padding
    ) throws {
        let error = try MercurioPair().failure(
            bad.envelope.record(), padding: padding, allowUnproven: true)
        if padding == .sha1, bad.why.hasPrefix("OAEP SHA-1/SHA-1") {
            #expect(error == nil)
        } else {
            // A field of a wrong length is refused by the reader; all other failures give one error.
            #expect(error.isError(MercurioOpenError.authentication) || error is MercurioRecordError)
        }
    }

    @Test func theKeyIsReadInEveryForm() throws {
        let key = try MercurioVectors.key.get()
        let forms = Self.vectors.rsaPublicForms
        #expect(try MercurioPublicKey(pem: forms.spkiPem) == key.publicKey)
        let known: [(MercurioPublicKey.Form, MercurioVectors.Numbers)] = [
            (.ios, forms.ios), (.web, forms.webJwk), (.flutter, forms.flutter),
        ]
        for (form, numbers) in known {
            let read = try MercurioPublicKey(modulus: numbers.modulus, exponent: numbers.exponent)
            #expect(read == key.publicKey)
            let written = read.text(form)
            #expect(written == (numbers.modulus, numbers.exponent))
        }
        #expect(
            key.publicKey.pem.filter { !$0.isWhitespace }
                == forms.spkiPem.filter { !$0.isWhitespace })
        let pkcs1 = try MercurioPrivateKey(file: Self.vectors.rsaPrivatePkcs1DerHex.bytes)
        #expect(pkcs1.publicKey == key.publicKey)
        #expect(
            text(key.pem()).filter { !$0.isWhitespace }
                == Self.vectors.rsaPrivatePkcs8Pem.filter { !$0.isWhitespace })
    }

    @Test(arguments: vectors.recovery)
    func wordsGiveTheAccountOfTheApp(_ known: MercurioVectors.Recovery) throws {
        let mnemonic = try Mnemonic(parsing: known.mnemonic)
        #expect(MercurioIdentity(mnemonic: mnemonic).id.description == known.iosSessionId)
        let flutter = MercurioIdentity(mnemonic: mnemonic, rule: .flutter)
        #expect(flutter.id.description == known.flutterSessionId)
        let identity = Identity(mnemonic: mnemonic, name: "")
        #expect(try identity.mercurioIdentity().id.description == known.iosSessionId)
    }

    @Test func aConversationHasTheKnownId() throws {
        let known = Self.vectors.conversationId
        let (a, b) = (try #require(KeyID(known.a)), try #require(KeyID(known.b)))
        #expect(MercurioIdentity.conversation(a, b) == known.id)
        #expect(MercurioIdentity.conversation(b, a) == known.id)
    }
}
