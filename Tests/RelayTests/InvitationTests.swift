import Sotto
import SottoState
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// Invitations in a store and its copies.
@Suite(.timeLimit(.minutes(60))) struct InvitationTests {
    @Test func aCopyOfTheStoreRedeemsNothing() throws {
        let running = try RunningRelay {
            $0.admission.isByInvitation = true
            $0.failedLoginPause = 0
        }
        let scratch = running.scratch
        let location = StoreLocation(scratch("relay.db"))
        let code = try Membership.invite(1, days: 1, in: location)[0]
        let copy = scratch("copy.db")
        #expect(
            ChildProcess.run("relay", ["backup", "--store", scratch("relay.db"), "-o", copy])
                == 0)
        let store = try StoreLocation(copy).open(Retention())
        let row = try #require(try store.invitation(code.tag))
        try store.close()
        let thief = Sample.identity()
        let client = running.client()
        guard case .challenge(let nonce, let names) = client.ask(.challenge) else {
            Issue.record("no challenge")
            return
        }
        let message = Login.message(relay: names[0], nonce: nonce, id: thief.id)
        // An attacker uses everything in the copy as the key of a signature.
        let key = SigningKey(seed: SecretBytes(copying: row.key))
        let forged = InvitationProof(
            tag: row.tag, signature: key.sign(InvitationProof.message(message)))
        let own = Login(key: thief.signingKey, nonce: nonce, relay: names[0])
        let login = Login(
            id: own.id, nonce: nonce, relay: names[0], proof: own.proof, invitation: forged)
        #expect(client.ask(.login(login)) == .error(Refusal(.notAdmitted)))
        #expect(row.key == code.publicKey)
    }

    /// The words give the tag and the public key of sotto-formats(5).
    @Test func aKnownCode() throws {
        let words = "return-defense-know-fossil-typical-there-involve-dentist"
        let code = try InvitationCode(words)
        let secret = Array(words.split(separator: "-").joined(separator: " ").utf8)
        func derive(_ info: String, _ count: Int) -> [UInt8] {
            hkdfSHA256(SecretBytes(copying: secret), info: info, count: count)
                .withBytes { Array($0) }
        }
        #expect(code.tag == derive("sotto/invitation/v2/tag", 16))
        let seed = SecretBytes(copying: derive("sotto/invitation/v2/key", 32))
        #expect(code.publicKey == SigningKey(seed: seed).publicKey)
        #expect(try InvitationCode(code.text) == code)
    }
}
