import SottoPadding
import TestSupport
import Testing

@testable import Sotto

struct GroupChainTests {
    private let group = GroupID([UInt8](repeating: 7, count: 32))
    private let alice = Sample.identity().id
    private let bob = Sample.identity().id
    private let carol = Sample.identity().id

    private func address(_ reader: KeyID) -> GroupCopy.Address {
        GroupCopy.Address(id: "one", to: reader, time: Timestamp(seconds: 1_800_000_000))
    }

    private func received(_ chain: GroupChain) throws -> ReceivedGroupChain {
        ReceivedGroupChain(
            try GroupChainDistribution(chain.distribution.object(), from: chain.device))
    }

    @Test func theKnownMessageIsWrittenAndRead() throws {
        let object = try JSON.object(parsing: Vectors.file("group.json"))
        let known = try #require(object["chain"]?.object)
        func bytes(_ name: String) throws -> [UInt8] {
            try #require(known[name]?.string.flatMap { SottoBytes.bytes(hex: $0) })
        }
        let device = KeyID(publicKey: try bytes("device"))
        var chain = GroupChain(
            group: GroupID(try bytes("group")), device: device,
            signingKey: SigningKey(seed: SecretBytes(copying: try bytes("seed"))),
            wrapSecret: RatchetSecret(try bytes("wrap")),
            key: ChainKey(secret: RatchetSecret(try bytes("key"))), iteration: 0)
        #expect(chain.id == (try bytes("chain")))
        var reader = try received(chain)
        let to = GroupCopy.Address(
            id: try #require(known["id"]?.string), to: KeyID(publicKey: try bytes("reader")),
            time: try #require(known["time"]?.string.flatMap { Timestamp($0) }))
        let message = try chain.seal(frame: try bytes("frame"), nonce: try bytes("nonce"))
        #expect(message.bytes == (try bytes("message")))
        let copy = chain.copy(message, for: to, nonce: try bytes("copyNonce"))
        #expect(copy.tag == (try bytes("tag")))
        #expect(copy.box == (try bytes("box")))
        #expect(reader.tag(for: to.to) == copy.tag)
        #expect(try reader.open(try reader.message(in: copy, for: to)) == Array("hello".utf8))
    }

    /// A chain with the wrap secret of another one has other tags, so that it does not hide that one.
    @Test func theTagDependsOnTheChain() throws {
        let chain = GroupChain(group: group, device: alice)
        let other = GroupChain(
            group: group, device: carol, signingKey: SigningKey(seed: SecretBytes(randomCount: 32)),
            wrapSecret: chain.wrapSecret, key: chain.key, iteration: 0)
        #expect(try received(chain).tag(for: bob) != received(other).tag(for: bob))
    }

    @Test func everyReaderOpensTheirCopy() throws {
        var chain = GroupChain(group: group, device: alice)
        var readers = [bob: try received(chain), carol: try received(chain)]
        for number in 0..<20 {
            let text = Array("message \(number)".utf8)
            let message = try chain.seal(text)
            for (id, reader) in readers {
                let copy = try GroupCopy(
                    payload: chain.copy(message, for: address(id)).payload)
                var next = reader
                #expect(try next.open(try next.message(in: copy, for: address(id))) == text)
                // The same again: the key is used.
                let again = try next.message(in: copy, for: address(id))
                #expect(throws: GroupChainError.noKey) { try next.open(again) }
                readers[id] = try #require(ReceivedGroupChain(encoded: next.encoded()))
            }
            chain = try #require(GroupChain(encoded: chain.encoded()))
        }
        #expect(readers[bob]?.tag(for: bob) != readers[carol]?.tag(for: carol))
    }

    /// The copy of another reader, envelope or chain does not open, and neither does a changed one.
    @Test func aCopyIsForOneEnvelope() throws {
        var chain = GroupChain(group: group, device: alice)
        let reader = try received(chain)
        let copy = chain.copy(try chain.seal([1]), for: address(bob))
        for change in [
            GroupCopy.Address(id: "two", to: bob, time: address(bob).time), address(carol),
            GroupCopy.Address(id: "one", to: bob, time: Timestamp(seconds: 0)),
        ] {
            #expect(throws: GroupChainError.copy) { try reader.message(in: copy, for: change) }
        }
        for place in copy.box.indices {
            var box = copy.box
            box[place] ^= 1
            #expect(throws: GroupChainError.copy) {
                try reader.message(in: GroupCopy(tag: copy.tag, box: box), for: address(bob))
            }
        }
        let other = try received(GroupChain(group: group, device: alice))
        #expect(throws: GroupChainError.copy) { try other.message(in: copy, for: address(bob)) }
    }

    /// C18: another member cannot give out a chain id with an own key, and a reader writes nothing in the chain.
    @Test func c18AChainBelongsToItsDeviceAndKey() throws {
        var chain = GroupChain(group: group, device: alice)
        let object = chain.distribution.object()
        #expect(throws: GroupChainError.chainID) {
            try GroupChainDistribution(object, from: carol)
        }
        var changed = object
        changed["signingKey"] = .base64(
            GroupChain(group: group, device: alice).signingKey.publicKey)
        #expect(throws: GroupChainError.chainID) {
            try GroupChainDistribution(changed, from: alice)
        }
        changed = object
        changed["group"] = .string(GroupID([UInt8](repeating: 8, count: 32)).description)
        #expect(throws: GroupChainError.chainID) {
            try GroupChainDistribution(changed, from: alice)
        }
        // Bob has all keys of the chain but the signing key.
        var reader = try received(chain)
        let message = try chain.seal(Array("from alice".utf8))
        for place in message.bytes.indices {
            var bytes = message.bytes
            bytes[place] ^= 1
            let forged = try #require(GroupMessage(bytes))
            #expect(throws: GroupChainError.signature) { try reader.open(forged) }
        }
        #expect(try reader.open(message) == Array("from alice".utf8))
    }

    /// C18: the owner of a chain cannot give two readers two keys under which one ciphertext has two texts.
    @Test func c18AMessageCommitsToItsKey() throws {
        let chain = GroupChain(group: group, device: alice)
        var reader = try received(chain)
        let id = chain.id
        let frame = try Padding.frame([1, 2, 3])
        let (key, _) = chain.key.step()
        let combined = AESGCM.seal(
            frame, authenticating: GroupMessage.associatedData(id, 0),
            key: key.secret.symmetricKey)
        // The ciphertext opens with the reader's key, but the commitment is that of another one.
        let commitment = randomBytes(32)
        let message = GroupMessage(
            iteration: 0, commitment: commitment,
            signature: chain.signingKey.sign(
                GroupMessage.signed(id, 0, commitment, combined)), combined: combined)
        #expect(throws: GroupChainError.authentication) { try reader.open(message) }
    }

    @Test func messagesInAnyOrderOpen() throws {
        var chain = GroupChain(group: group, device: alice)
        var reader = try received(chain)
        let messages = try (0..<200).map { try chain.seal([UInt8($0)]) }
        for message in messages.shuffled() {
            #expect(try reader.open(message) == [UInt8(message.iteration)])
        }
        #expect(reader.skippedMessages.count == 0)
    }

    @Test func aChainEndsAfter1000Messages() throws {
        var chain = GroupChain(group: group, device: alice)
        var reader = try received(chain)
        var last: GroupMessage?
        while !chain.isEnded { last = try chain.seal([1]) }
        #expect(chain.iteration == 1_000)
        #expect(throws: GroupChainError.ended) { try chain.seal([1]) }
        #expect(try reader.open(try #require(last)) == [1])
        #expect(reader.skippedMessages.count == 999)
        #expect(ReceivedGroupChain(encoded: reader.encoded())?.skippedMessages.count == 999)
        reader.keepSkipped(10)
        #expect(reader.skippedMessages.count == 10)
    }

    /// A reader who got the chain late opens no earlier message.
    @Test func aLaterReaderOpensNoEarlierMessage() throws {
        var chain = GroupChain(group: group, device: alice)
        let early = try chain.seal([1])
        var reader = try received(chain)
        #expect(throws: GroupChainError.noKey) { try reader.open(early) }
        #expect(try reader.open(try chain.seal([2])) == [2])
    }

    @Test func aTooLongMessageIsRefused() throws {
        var chain = GroupChain(group: group, device: alice)
        #expect(throws: GroupChainError.tooLong(limit: GroupChain.limit)) {
            try chain.seal([UInt8](repeating: 0, count: GroupChain.limit + 1))
        }
        #expect(chain.iteration == 0)
    }
}
