import Sotto
import SottoMessengers
import TestSupport
import Testing

struct SecretTypesTests {
    /// All copyable types that hold a secret. `SecretBytes` cannot be copied, so it cannot conform to these protocols.
    static let types: [Any.Type] = [
        Identity.self, Mnemonic.self, SigningKey.self, AgeX25519Identity.self,
        AgeHybridIdentity.self, AgeIdentity.self, Passphrase.self, AgeAccess.self,
        SignedStreamWriter.self, AgeFileReader.self, ShainyChat.self, PhraseKey.self,
        RSALoginKey.self, SenderKeyChain.self, ReceivedSenderKeyChain.self,
        SenderKeyDistribution.self, GroupChain.self, ReceivedGroupChain.self,
        GroupChainDistribution.self, RatchetSecret.self, KEMKey.self, SecretPreKey.self,
        PeerSession.self,
    ]

    @Test func noSecretTypeIsCodableOrPrintsItself() {
        for type in Self.types {
            #expect(!(type is any Encodable.Type), "\(type)")
            #expect(!(type is any Decodable.Type), "\(type)")
            #expect(!(type is any CustomStringConvertible.Type), "\(type)")
            #expect(!(type is any CustomDebugStringConvertible.Type), "\(type)")
            #expect(!(type is any CustomReflectable.Type), "\(type)")
            #expect(!(type is any Equatable.Type), "\(type)")
        }
    }

    @Test func printingASecretDoesNotRevealIt() throws {
        let identity = People.alice
        let mnemonic = try identity.mnemonic()
        let passphrase = Passphrase(SecretBytes(copying: Array("correct horse".utf8)))
        let values: [Any] = [
            identity, mnemonic, identity.signingKey, identity.ageKey, identity.hybridKey,
            AgeIdentity.x25519(identity.ageKey), AgeIdentity.hybrid(identity.hybridKey), passphrase,
            AgeAccess.passphrase(passphrase),
        ]
        let seed = identity.signingKey.withSeed { Array($0) }
        let words = mnemonic.sentenceText().split(separator: " ")
        let secrets =
            [
                identity.ageKey.text(), identity.hybridKey.text(), "correct horse", hex(seed),
                Base64.standard.encode(seed), "\(seed)",
            ]
            // A single word may also be the name of a type; two consecutive words are not.
            + zip(words, words.dropFirst()).map { "\($0) \($1)" }
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                for secret in secrets where text.contains(secret) {
                    Issue.record("\(type(of: value)) shows a secret")
                }
            }
        }
    }

    @Test func errorsCarryNoSecret() {
        let words = "zzsecretword " + String(repeating: "abandon ", count: 11)
        do {
            _ = try Mnemonic(parsing: words)
        } catch {
            #expect(!"\(error)".contains("zzsecretword"))
        }
    }

    @Test func secretBytesLendTheirContent() {
        let secret = SecretBytes(copying: [1, 2, 3])
        #expect(secret.count == 3)
        #expect(secret.withBytes { Array($0) } == [1, 2, 3])
        let twin = secret.duplicate()
        #expect(twin.withBytes { Array($0) } == [1, 2, 3])
        let none = SecretBytes(copying: [])
        #expect(none.withBytes { Array($0) } == [])
        var bytes: [UInt8] = [1, 2, 3]
        wipe(&bytes)
        #expect(bytes == [0, 0, 0])
        #expect(constantTimeEqual([1, 2], [1, 2]) && !constantTimeEqual([1, 2], [1, 3]))
        #expect(!constantTimeEqual([1, 2], [1]) && constantTimeEqual([], []))
    }

    @Test func hkdfMatchesTheRFCsThirdCaseAndTreatsNoSaltAsZeros() {
        let secret = SecretBytes(copying: [UInt8](repeating: 0x0B, count: 22))
        let third = hkdfSHA256(secret, salt: [], info: "", count: 42)
        #expect(
            third.withBytes { hex($0) }
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        )
        let zeros = hkdfSHA256(
            secret, salt: [UInt8](repeating: 0, count: 32), info: "", count: 42)
        #expect(zeros.withBytes { Array($0) } == third.withBytes { Array($0) })
    }
}
