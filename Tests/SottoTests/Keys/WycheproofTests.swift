import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Project Wycheproof's vectors with Sotto's own functions.
@Suite(.enabled(if: Vectors.hasExternal, Vectors.hint))
struct WycheproofTests {
    struct File<Group: Decodable>: Decodable { let testGroups: [Group] }

    static func groups<Group: Decodable>(_ name: String, as type: Group.Type) -> [Group] {
        Vectors.loadExternal("wycheproof/\(name)_test.json", as: File<Group>.self).testGroups
    }

    struct X25519Group: Decodable {
        let tests: [Case]
        struct Case: Decodable {
            let tcId: Int
            let flags: [String]
            let `public`: Hex
            let `private`: Hex
            let shared: Hex
        }
    }

    @Test func x25519() {
        let cases = Self.groups("x25519", as: X25519Group.self).flatMap(\.tests)
        #expect(cases.count > 500)
        for known in cases {
            let secret = SecretBytes(copying: known.private.bytes)
            let isZero = known.flags.contains("ZeroSharedSecret")
            #expect(X25519.isLowOrder(known.public.bytes) == isZero, "case \(known.tcId)")
            if let shared = X25519.sharedSecret(secret, known.public.bytes) {
                #expect(
                    shared.withBytes { Array($0) } == known.shared.bytes, "case \(known.tcId)")
                #expect(!isZero)
            } else {
                #expect(isZero, "case \(known.tcId)")
                if NaClBox.sharedKey(secret, known.public.bytes) != nil {
                    Issue.record("case \(known.tcId): a box's key")
                }
            }
        }
    }

    struct Ed25519Group: Decodable {
        let publicKey: Key
        let tests: [Case]
        struct Key: Decodable { let pk: Hex }
        struct Case: Decodable {
            let tcId: Int
            let msg: Hex
            let sig: Hex
            let result: String
        }
    }

    @Test func ed25519() {
        let groups = Self.groups("ed25519", as: Ed25519Group.self)
        #expect(groups.count > 70)
        for group in groups {
            for known in group.tests {
                let isRight = verifySignature(
                    known.sig.bytes, of: known.msg.bytes, by: group.publicKey.pk.bytes)
                #expect(isRight == (known.result == "valid"), "case \(known.tcId)")
            }
        }
    }

    struct OAEPGroup: Decodable {
        let privateKeyPem: String
        let tests: [Case]
        struct Case: Decodable {
            let tcId: Int
            let msg: Hex
            let ct: Hex
            let label: String
            let result: String
        }
    }

    @Test func rsaOAEP() throws {
        for group in Self.groups("rsa_oaep_2048_sha256_mgf1sha256", as: OAEPGroup.self) {
            let key = try MercurioPrivateKey(pem: group.privateKeyPem)
            #expect(group.tests.count > 30)
            for known in group.tests {
                // Sotto uses no label.
                let isRight = known.result == "valid" && known.label.isEmpty
                if let secret = key.unwrap(known.ct.bytes, padding: .sha256) {
                    #expect(
                        isRight && secret.withBytes { Array($0) } == known.msg.bytes,
                        "case \(known.tcId)")
                } else {
                    #expect(!isRight, "case \(known.tcId)")
                }
                if key.unwrap(known.ct.bytes, padding: .sha1) != nil {
                    Issue.record("case \(known.tcId): as SHA-1")
                }
            }
        }
    }
}
