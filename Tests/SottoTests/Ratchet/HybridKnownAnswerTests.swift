import TestSupport
import Testing

@testable import Sotto

/// Tests/Vectors/pqratchet.json, made by another implementation: hybrid sessions. Each transcript is followed by both
/// sides.
struct HybridKnownAnswerTests {
    struct Vectors: Decodable {
        let transcripts: [Transcript]
    }
    struct Transcript: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let pqxdh: PQXDH
        let chains: [String: Chain]
        let steps: [Step]
        var testDescription: String { name }
    }
    struct PQXDH: Decodable, Sendable {
        let aliceIkSeed: Hex
        let bobIkSeed: Hex
        let bobSpkSecret: Hex
        let bobOpkSecret: Hex?
        let aliceEkSecret: Hex
        let bobPqspkSeed: Hex
        let kemSharedSecret: Hex
        let sharedSecret: Hex
        let associatedData: Hex
        let preKey: Member
        let bundle: Member
    }
    struct Chain: Decodable, Sendable {
        let x25519Secret: Hex
        let x25519Public: Hex
        let mlkemSeed: Hex
        let kem: Member
        let kemSharedSecret: Hex?
        let rootBefore: Hex
        let rootAfter: Hex
        let chainKey: Hex
    }
    struct Step: Decodable, Sendable {
        let op: String
        let id: String?
        let who: String
        let chain: String?
        let begins: Bool?
        let count: Int?
        let n: UInt32?
        let pn: UInt32?
        let kem: Bool?
        let preKey: Bool?
        let padded: Hex?
        let messageKey: Hex?
        let nonce: Hex?
        let aad: Hex?
        let combined: Hex?
        let expect: String?
        let or: String?
        let payload: Member?
    }

    /// A JSON value of the file.
    struct Member: Decodable, Sendable {
        let json: JSON

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                json = .null
            } else if let text = try? container.decode(String.self) {
                json = .string(text)
            } else if let number = try? container.decode(Int64.self) {
                json = .integer(number)
            } else if let list = try? container.decode([Member].self) {
                json = .array(list.map(\.json))
            } else {
                let members = try container.decode([String: Member].self)
                json = .object(JSONObject(members.map { ($0.key, $0.value.json) }))
            }
        }

        func object() throws -> JSONObject { try #require(json.object) }
    }

    static let vectors = TestSupport.Vectors.load("pqratchet", as: Vectors.self)

    // MARK: The key agreement

    @Test(arguments: vectors.transcripts)
    func bothSidesAgreeOnTheKnownSecret(_ transcript: Transcript) throws {
        let known = transcript.pqxdh
        let (agreement, header) = try initiated(known)
        #expect(agreement.secret.copyBytes() == known.sharedSecret.bytes)
        #expect(agreement.associatedData == known.associatedData.bytes)
        #expect(agreement.kind == .hybrid)
        let preKey = try known.preKey.object()
        #expect(JSON.object(header.object).canonical() == known.preKey.json.canonical())
        let responder = try responded(known, PreKeyHeader(preKey))
        #expect(responder.secret.copyBytes() == known.sharedSecret.bytes)
        #expect(responder.associatedData == known.associatedData.bytes)
    }

    private func initiated(
        _ known: PQXDH
    ) throws -> (agreement: KeyAgreement, header: PreKeyHeader) {
        let ciphertext = try #require(
            PreKeyHeader(known.preKey.object()).kem?.ciphertext)
        return try KeyAgreement.initiate(
            own: RatchetKnownAnswerTests.identityPair(known.aliceIkSeed),
            publicKey: SigningKey(seed: SecretBytes(copying: known.aliceIkSeed.bytes)).publicKey,
            PreKeyBundle(record: known.bundle.object()),
            ephemeral: RatchetKnownAnswerTests.pair(known.aliceEkSecret)
        ) { _ in
            KEMKey.Encapsulation(
                secret: RatchetSecret(known.kemSharedSecret.bytes), ciphertext: ciphertext)
        }
    }

    private func responded(_ known: PQXDH, _ header: PreKeyHeader) throws -> KeyAgreement {
        try KeyAgreement.respond(
            own: RatchetKnownAnswerTests.identityPair(known.bobIkSeed),
            publicKey: SigningKey(seed: SecretBytes(copying: known.bobIkSeed.bytes)).publicKey,
            header, signed: RatchetKnownAnswerTests.pair(known.bobSpkSecret),
            oneTime: known.bobOpkSecret.map(RatchetKnownAnswerTests.pair),
            kemKey: KEMKey(.mlkem1024, seed: known.bobPqspkSeed.bytes))
    }

    // MARK: The messages

    @Test(arguments: vectors.transcripts)
    func bothSidesFollowTheTranscript(_ transcript: Transcript) throws {
        let known = transcript.pqxdh
        let begun = Session(
            initiatorWith: try initiated(known).agreement,
            theirSignedPreKey: RatchetKnownAnswerTests.pair(known.bobSpkSecret).publicKey)
        var sessions: [String: Session] = ["alice": begun]
        var sent: [String: JSONObject] = [:]
        for step in transcript.steps {
            let comment = Comment(rawValue: step.id ?? "lose")
            guard step.op != "receive" else {
                try receive(step, transcript, &sessions, sent, comment)
                continue
            }
            var session = try #require(sessions[step.who])
            let chain = try #require(transcript.chains[step.chain ?? ""])
            if step.begins == true { try begin(chain, in: &session) }
            if step.op == "send" {
                let message = try send(step, chain, in: &session, comment)
                var payload = message.payload
                if step.preKey == true { payload["preKey"] = known.preKey.json }
                sent[try #require(step.id)] = payload
            } else {
                for _ in 0..<(step.count ?? 0) { _ = try session.nextPlace() }
            }
            sessions[step.who] = try stored(session)
        }
    }

    /// Returns the session after writing and reading it.
    private func stored(_ session: Session) throws -> Session {
        let bytes = session.encoded()
        let again = try #require(Session(encoded: bytes[...]))
        #expect(again.encoded() == bytes)
        return again
    }

    private func begin(_ chain: Chain, in session: inout Session) throws {
        let kem = try #require(KEMKey(.mlkem768, seed: chain.mlkemSeed.bytes))
        let pair = RatchetPair(
            x25519: RatchetKnownAnswerTests.pair(chain.x25519Secret), kem: kem)
        let encapsulation = try chain.kemSharedSecret.map {
            KEMKey.Encapsulation(
                secret: RatchetSecret($0.bytes),
                ciphertext: try #require(
                    RatchetKEM(chain.kem.json, hasCiphertext: true).ciphertext))
        }
        #expect(session.root.secret.copyBytes() == chain.rootBefore.bytes)
        try session.begin(ChainBeginning(pair: pair, encapsulation: encapsulation))
        #expect(session.root.secret.copyBytes() == chain.rootAfter.bytes)
        guard case .sent(let sending) = session.turn else {
            Issue.record("no sending chain")
            return
        }
        #expect(sending.key.secret.copyBytes() == chain.chainKey.bytes)
    }

    private func send(
        _ step: Step, _ chain: Chain, in session: inout Session, _ comment: Comment
    ) throws -> RatchetMessage {
        let place = try session.nextPlace()
        #expect(place.key.secret.copyBytes() == step.messageKey?.bytes, comment)
        #expect(
            place.header.authenticatedData(session.associatedData) == step.aad?.bytes, comment)
        let message = place.encrypt(
            try #require(step.padded).bytes, nonce: try #require(step.nonce).bytes)
        #expect(message.combined == step.combined?.bytes, comment)
        #expect(message.header.publicKey == chain.x25519Public.bytes, comment)
        #expect(
            message.header.number == step.n && message.header.previousLength == step.pn, comment)
        let kem = step.kem == true ? chain.kem.json.canonical() : nil
        #expect(message.kem?.canonical() == kem, comment)
        return message
    }

    private func receive(
        _ step: Step, _ transcript: Transcript, _ sessions: inout [String: Session],
        _ sent: [String: JSONObject], _ comment: Comment
    ) throws {
        let payload = try step.payload?.object() ?? #require(sent[step.id ?? ""])
        let before = sessions[step.who]?.encoded()
        do {
            var session =
                try sessions[step.who] ?? accepted(transcript.pqxdh, payload)
            let message = try RatchetMessage(payload: payload)
            let plaintext = try session.decrypt(message)
            #expect(step.expect == "ok", comment)
            #expect(plaintext == step.padded?.bytes, comment)
            if let chain = transcript.chains.values.first(where: {
                $0.x25519Public.bytes == message.header.publicKey
            }), case .received = session.turn,
                session.receiving?.publicKey == message.header.publicKey
            {
                #expect(session.root.secret.copyBytes() == chain.rootAfter.bytes, comment)
            }
            sessions[step.who] = try stored(session)
        } catch let error as RatchetError {
            let outcome = error == .missingKEM ? "wait" : "fail"
            #expect(outcome == step.expect || outcome == step.or, comment)
            #expect(sessions[step.who]?.encoded() == before, comment)
        }
    }

    /// Returns the responder's session for a pre-key message.
    private func accepted(_ known: PQXDH, _ payload: JSONObject) throws -> Session {
        let header = try PreKeyHeader(try #require(payload["preKey"]?.object))
        return Session(
            responderWith: try responded(known, header),
            signedPreKey: RatchetKnownAnswerTests.pair(known.bobSpkSecret))
    }
}
