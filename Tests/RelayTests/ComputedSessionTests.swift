import Sotto
import TestSupport
import Testing

@testable import SottoState

/// Sessions that begin with many people at once.
@Suite struct ComputedSessionTests {
    private struct Peer {
        let identity = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "peer")
        let signed = SecretPreKey(.signed, id: 1)
        let postQuantum = SecretPreKey(.postQuantum, id: 2)
        let oneTime = SecretPreKey(.oneTime, id: 3)

        func bundle() throws -> PreKeyBundle {
            try PreKeyPublication(
                by: identity, signedPreKey: signed.signed(by: identity, at: .now()),
                pqSignedPreKey: postQuantum.signed(by: identity, at: .now()), oneTimePreKeys: []
            ).bundle(oneTime: oneTime.publicHalf)
        }
    }

    @Test func theirFirstMessagesAreOpened() throws {
        let scratch = TemporaryDirectory()
        let alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
        let store = try IdentityStore(
            directory: StateDirectory(path: scratch("state")), identity: alice, lockTimeout: 5)
        let peers = (0..<20).map { _ in Peer() }
        let bundles = try peers.map { try $0.bundle() }
        try store.transaction { transaction in
            for bundle in bundles { try transaction.keep(bundle) }
        }
        try store.transaction { transaction in
            let pool = ThreadPool(threads: 2)
            try transaction.computeSessions(with: Set(peers.map(\.identity.id)), on: pool)
            #expect(transaction.computedSessions.count == peers.count)
            for (peer, kept) in zip(peers, bundles) {
                let bundle = try #require(try transaction.bundle(of: peer.identity.id))
                #expect(bundle == kept)
                _ = try transaction.begin(with: bundle)
                let envelope = try transaction.seal(
                    Draft(
                        body: ["type": .string("text"), "text": .string("hello")],
                        milliseconds: Timestamp.milliseconds()), to: peer.identity.id)
                let header = try #require(try PeerSession.preKeyHeader(in: envelope))
                var session = try PeerSession(
                    by: peer.identity, accepting: header,
                    with: .init(
                        signed: peer.signed, postQuantum: peer.postQuantum, oneTime: peer.oneTime))
                #expect(try session.open(envelope).body["text"] == .string("hello"))
            }
            #expect(transaction.computedSessions.isEmpty)
        }
        // A session exists now, and the bundles are gone.
        try store.preview { transaction in
            try transaction.computeSessions(
                with: Set(peers.map(\.identity.id)), on: ThreadPool(threads: 1))
            #expect(transaction.computedSessions.isEmpty)
        }
    }

    /// A session that was computed with another bundle is not used.
    @Test func anotherBundleBeginsAnotherSession() throws {
        let scratch = TemporaryDirectory()
        let alice = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
        let store = try IdentityStore(
            directory: StateDirectory(path: scratch("state")), identity: alice, lockTimeout: 5)
        let peer = Peer()
        try store.transaction { transaction in
            try transaction.keep(peer.bundle())
            try transaction.computeSessions(
                with: [peer.identity.id], on: ThreadPool(threads: 1))
            let computed = try #require(transaction.computedSessions[peer.identity.id]).session
            let other = try PreKeyBundle(
                identityKey: peer.identity.id.publicKey,
                signedPreKey: SecretPreKey(.signed, id: 7).signed(by: peer.identity, at: .now()),
                pqSignedPreKey: peer.postQuantum.signed(by: peer.identity, at: .now()),
                oneTimePreKey: nil)
            #expect(try transaction.session(with: other).tag != computed.tag)
        }
    }
}
