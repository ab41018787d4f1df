import SottoPadding
import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/sender_keys.json, and input that sender key chains refuse.
struct SenderKeyTests {
    struct Vectors: Decodable {
        let groupId: String
        let senderKey: Hex
        let chainId: Hex
        let signingSeed: Hex
        let signingPublic: Hex
        let messages: [Known]
    }
    struct Known: Decodable, Sendable {
        let iteration: UInt32
        let chainKey: Hex
        let messageKey: Hex
        let padded: Hex
        let aad: Hex
        let combined: Hex
        let signature: Hex
        let wire: Wire

        func message() throws -> SenderKeyMessage { try SenderKeyMessage(payload: wire.object) }
        var text: [UInt8] { Array("group message \(iteration)".utf8) }
    }
    struct Wire: Decodable, Sendable {
        let chainId: String
        let iteration: Int64
        let ciphertext: String
        let signature: String

        var object: JSONObject {
            [
                "chainId": .string(chainId), "iteration": .integer(iteration),
                "ciphertext": .string(ciphertext), "signature": .string(signature),
            ]
        }
    }

    static let vectors = TestSupport.Vectors.load("sender_keys", as: Vectors.self)

    let known = Self.vectors
    /// The chain of the vectors, for its owner and for a member from the start.
    let own: SenderKeyChain
    let received: ReceivedSenderKeyChain

    init() throws {
        own = SenderKeyChain(
            groupID: known.groupId, senderKey: RatchetSecret(known.senderKey.bytes),
            signingKey: SigningKey(seed: SecretBytes(copying: known.signingSeed.bytes)))
        received = ReceivedSenderKeyChain(try SenderKeyDistribution(own.distribution.object()))
    }

    func known(_ iteration: UInt32) -> Known {
        known.messages.first { $0.iteration == iteration }!
    }

    @Test func theChainIsTheKnownOne() {
        #expect(own.chainID == known.chainId.bytes)
        #expect(own.signingKey.publicKey == known.signingPublic.bytes)
    }

    @Test func theKnownMessagesAreWritten() throws {
        var chain = own
        while chain.iteration <= 259 {
            guard let known = known.messages.first(where: { $0.iteration == chain.iteration })
            else {
                _ = try chain.seal([])
                continue
            }
            #expect(chain.key.secret.copyBytes() == known.chainKey.bytes)
            #expect(chain.key.step().message.secret.copyBytes() == known.messageKey.bytes)
            #expect(
                SenderKeyMessage.authenticatedData(chain.chainID, chain.iteration)
                    == known.aad.bytes)
            let message = try chain.seal(
                frame: known.padded.bytes, nonce: Array(known.combined.bytes[..<12]))
            #expect(message.combined == known.combined.bytes)
            #expect(message.signature == known.signature.bytes)
            #expect(message.payload == known.wire.object)
        }
    }

    @Test func theKnownMessagesAreReadInAnyOrder() throws {
        try withGenerator { generator in
            for _ in 0..<20 {
                var chain = received
                var order = known.messages.filter { $0.iteration <= 256 }
                order.shuffle(using: &generator)
                for known in order {
                    let text = try chain.open(known.message())
                    #expect(text == known.text, generator.comment)
                }
                for late in known.messages where late.iteration > 256 {
                    let text = try chain.open(late.message())
                    #expect(text == late.text, generator.comment)
                }
            }
        }
    }

    @Test func r2SkippingIsLimited() throws {
        var chain = received
        #expect(throws: SenderKeyError.tooManySkipped) {
            try chain.open(known(257).message())
        }
        #expect(chain.encoded() == received.encoded())
        #expect(try chain.open(known(256).message()) == known(256).text)
        #expect(chain.skipped.count == 256)
        #expect(try chain.open(known(0).message()) == known(0).text)
        #expect(try chain.open(known(259).message()) == known(259).text)
        #expect(chain.skipped.count == ReceivedSenderKeyChain.maximumStored)
    }

    @Test func r2UnsignedMessagesChangeNothing() throws {
        var chain = received
        let good = try known(256).message()
        for bit in 0..<good.combined.count * 8 {
            let bad = SenderKeyMessage(
                chainID: good.chainID, iteration: good.iteration,
                combined: good.combined.flipping(bit: bit), signature: good.signature)
            #expect(throws: SenderKeyError.signature) { try chain.open(bad) }
        }
        for bit in 0..<512 {
            let bad = SenderKeyMessage(
                chainID: good.chainID, iteration: good.iteration, combined: good.combined,
                signature: good.signature.flipping(bit: bit))
            #expect(throws: SenderKeyError.signature) { try chain.open(bad) }
        }
        // Without a signature, a number that would skip too much is not checked.
        let far = SenderKeyMessage(
            chainID: good.chainID, iteration: 100_000, combined: good.combined,
            signature: good.signature)
        #expect(throws: SenderKeyError.signature) { try chain.open(far) }
        #expect(chain.encoded() == received.encoded())
    }

    @Test func r2SignedMessagesThatAreNotAuthenticChangeNothing() throws {
        var chain = received
        let combined = try known(5).message().combined.flipping(bit: 100)
        func signed(_ combined: [UInt8]) -> SenderKeyMessage {
            SenderKeyMessage(
                chainID: own.chainID, iteration: 5, combined: combined,
                signature: own.signingKey.sign(
                    SenderKeyMessage.signed(own.chainID, 5, combined)))
        }
        #expect(throws: SenderKeyError.authentication) { try chain.open(signed(combined)) }
        var sender = own
        for _ in 0..<5 { _ = try sender.seal([]) }
        let unpadded = try sender.seal(frame: [2, 3], nonce: randomBytes(12))
        #expect(throws: SenderKeyError.authentication) { try chain.open(unpadded) }
        #expect(chain.encoded() == received.encoded())
        #expect(try chain.open(known(5).message()) == known(5).text)
    }

    @Test func r1NoMemberCanImpersonateAnother() throws {
        var chain = received
        // Another member knows the chain key, but has their own signing key.
        var forger = SenderKeyChain(
            groupID: own.groupID, senderKey: RatchetSecret(known.senderKey.bytes),
            signingKey: People.carol.signingKey)
        let forged = try forger.seal(Array("I resign".utf8))
        #expect(throws: SenderKeyError.signature) { try chain.open(forged) }
    }

    @Test func r1AMessageWithoutASignatureIsRefused() throws {
        let good = try known(0).message().payload
        for value in [nil, .null, .string(""), .string("AAAA"), .integer(0)] as [JSON?] {
            var bad = good
            bad["signature"] = value
            #expect(throws: SenderKeyError.signature) { try SenderKeyMessage(payload: bad) }
        }
    }

    @Test func aMessageIsReadOnce() throws {
        var chain = received
        for iteration in [5, 2] as [UInt32] {
            let message = try known(iteration).message()
            _ = try chain.open(message)
            #expect(throws: SenderKeyError.noKey) { try chain.open(message) }
        }
    }

    @Test func aMessageOfAnotherChainIsRefused() throws {
        var other = ReceivedSenderKeyChain(SenderKeyChain(groupID: "g").distribution)
        #expect(throws: SenderKeyError.chain) { try other.open(known(0).message()) }
    }

    @Test func aLaterMemberCannotReadEarlierMessages() throws {
        var sender = SenderKeyChain(groupID: "conv")
        let early = try sender.seal(Array("before".utf8))
        let joined = try SenderKeyDistribution(sender.distribution.object())
        #expect(joined.iteration == 1 && joined.chainID == sender.chainID)
        var chain = ReceivedSenderKeyChain(joined)
        #expect(throws: SenderKeyError.noKey) { try chain.open(early) }
        #expect(try chain.open(try sender.seal(Array("after".utf8))) == Array("after".utf8))
    }

    @Test func theFirstKeyMatchesTheChainID() throws {
        var object = own.distribution.object()
        object["chainKey"] = .string(Base64.standard.encode(randomBytes(32)))
        #expect(throws: SenderKeyError.chainID) { try SenderKeyDistribution(object) }
        object["iteration"] = .integer(1)
        #expect(throws: Never.self) { try SenderKeyDistribution(object) }
    }

    @Test func aMalformedDistributionIsRefused() {
        let good = own.distribution.object()
        let bad: [(String, JSON?)] = [
            ("type", .string("sender")), ("groupId", .string("")), ("groupId", nil),
            ("chainId", .string("00")), ("chainId", nil), ("iteration", .integer(-1)),
            ("iteration", .integer(1 << 31)), ("iteration", .number(1.5)), ("iteration", nil),
            ("chainKey", .string("AA==")), ("chainKey", .string("*")), ("chainKey", nil),
            ("signingKey", .string(Base64.standard.encode([UInt8](repeating: 0, count: 32)))),
            ("signingKey", nil),
        ]
        for (name, value) in bad {
            var object = good
            object[name] = value
            #expect(throws: SenderKeyError.payload, "\(name)") {
                try SenderKeyDistribution(object)
            }
        }
    }

    @Test func aMalformedMessageIsRefused() throws {
        let good = try known(0).message().payload
        let bad: [(String, JSON?)] = [
            ("chainId", .string("00")), ("chainId", nil), ("iteration", .integer(-1)),
            ("iteration", .integer(1 << 31)), ("iteration", nil), ("ciphertext", .string("AAAA")),
            ("ciphertext", nil),
        ]
        for (name, value) in bad {
            var payload = good
            payload[name] = value
            #expect(throws: SenderKeyError.payload, "\(name)") {
                try SenderKeyMessage(payload: payload)
            }
        }
    }

    @Test func theChainEndsAtItsLastNumber() throws {
        let last = Session.maximumCounter
        var chain = SenderKeyChain(
            groupID: "g", chainID: own.chainID, signingKey: own.signingKey, key: own.key,
            iteration: last)
        var reader = ReceivedSenderKeyChain(try SenderKeyDistribution(chain.distribution.object()))
        #expect(try reader.open(try chain.seal([1])) == [1])
        #expect(throws: SenderKeyError.counterOverflow) { try chain.seal([1]) }
        #expect(SenderKeyChain(encoded: chain.encoded())?.iteration == last + 1)
    }

    @Test func aTextThatIsTooLongIsRefused() {
        var chain = own
        let limit = SenderKeyChain.limit
        #expect(throws: SenderKeyError.tooLong(limit: limit)) {
            try chain.seal([UInt8](repeating: 0, count: limit + 1))
        }
        #expect(chain.iteration == 0)
    }

    @Test func aThousandRandomStepsAreRead() throws {
        try withGenerator { generator in
            var sender = SenderKeyChain(groupID: "conv")
            var reader = ReceivedSenderKeyChain(sender.distribution)
            var waiting: [(message: SenderKeyMessage, text: [UInt8])] = []
            for _ in 0..<1000 {
                if waiting.count < 40, generator.int(0..<2) == 0 {
                    let text = generator.bytes(generator.int(0..<200))
                    waiting.append((try sender.seal(text), text))
                    sender = try #require(SenderKeyChain(encoded: sender.encoded()))
                } else if !waiting.isEmpty {
                    let (message, text) = waiting.remove(at: generator.int(0..<waiting.count))
                    #expect(try reader.open(message) == text, generator.comment)
                    reader = try #require(ReceivedSenderKeyChain(encoded: reader.encoded()))
                }
            }
        }
    }

    @Test func storedChainsAreReadInFullOrRefused() throws {
        var chain = received
        _ = try chain.open(known(5).message())
        let encoded = chain.encoded()
        #expect(ReceivedSenderKeyChain(encoded: encoded)?.encoded() == encoded)
        // The group's id is last, so a truncated one is still valid.
        let end = encoded.count - own.groupID.utf8.count
        for count in 0...end {
            #expect(ReceivedSenderKeyChain(encoded: Array(encoded[..<count])) == nil)
        }
        let ownEncoded = own.encoded()
        #expect(SenderKeyChain(encoded: ownEncoded)?.encoded() == ownEncoded)
        for count in 0...(ownEncoded.count - own.groupID.utf8.count) {
            #expect(SenderKeyChain(encoded: Array(ownEncoded[..<count])) == nil)
        }
        #expect(SenderKeyChain(encoded: [2] + ownEncoded.dropFirst()) == nil)
    }
}

/// Sender keys against the independent program.
struct SenderKeyPeerTests {
    @Test(.needs(.pythonPackages), arguments: [0, 1, 59, 60, 1_000])
    func messagesAreReadOnBothSides(_ size: Int) throws {
        try withGenerator { generator in
            let (key, seed) = (generator.bytes(32), generator.bytes(32))
            let text = generator.bytes(size)
            var chain = SenderKeyChain(
                groupID: "g", senderKey: RatchetSecret(key),
                signingKey: SigningKey(seed: SecretBytes(copying: seed)))
            var received = ReceivedSenderKeyChain(
                try SenderKeyDistribution(chain.distribution.object()))
            for iteration in 0..<3 {
                let sent = try chain.seal(text).payload
                var request = [
                    "op": "sender_key_open", "chainKey": Peers.text(key),
                    "iteration": "\(iteration)",
                    "signingKey": Peers.text(chain.signingKey.publicKey),
                ]
                for name in ["chainId", "ciphertext", "signature"] {
                    request[name] = sent[name]?.string
                }
                #expect(try Peers.ask(request).bytes("m") == text, generator.comment)
                let answer = try Peers.ask([
                    "op": "sender_key_seal", "chainKey": Peers.text(key),
                    "iteration": "\(iteration)", "m": Peers.text(text), "seed": Peers.text(seed),
                ])
                let message = try SenderKeyMessage(payload: [
                    "chainId": .string(answer["chainId"]), "iteration": .integer(Int64(iteration)),
                    "ciphertext": .string(answer["ciphertext"]),
                    "signature": .string(answer["signature"]),
                ])
                #expect(try received.open(message) == text, generator.comment)
            }
        }
    }
}
