import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Comparison with PyNaCl, pyca/cryptography and mnemonic in both directions, on random input.
@Suite(.needs(.pythonPackages))
struct Whisper2PeerTests {
    static let sizes = [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 10_000_000]

    @Test(arguments: sizes)
    func boxesOpenOnBothSides(_ size: Int) throws {
        try withGenerator { generator in
            let message = generator.bytes(size)
            let nonce = generator.bytes(24)
            let (ours, theirs) = (generator.bytes(32), generator.bytes(32))
            let secret = SecretBytes(copying: ours)
            let publicKey = X25519.publicKey(of: SecretBytes(copying: theirs))
            guard let key = NaClBox.sharedKey(secret, publicKey) else {
                Issue.record("no shared key")
                return
            }
            let box = NaClBox.seal(message, nonce: nonce, key: key)
            let shared = [
                "nonce": Peers.text(nonce), "sk": Peers.text(theirs),
                "pk": Peers.text(X25519.publicKey(of: secret)),
                "key": Peers.text(key.withBytes { Array($0) }),
            ]
            var requests: [[String: String]] = []
            for name in ["nacl_box", "nacl_secretbox"] {
                requests.append(
                    shared.merging([
                        "op": name, "direction": "seal", "m": Peers.text(message),
                    ]) { $1 })
                requests.append(
                    shared.merging(["op": name, "direction": "open", "m": Peers.text(box)]) { $1 })
            }
            requests.append(
                shared.merging([
                    "op": "nacl_box", "direction": "open",
                    "m": Peers.text(box.flipping(bit: generator.int(0..<box.count * 8))),
                ]) { $1 })
            let answers = try Peers.ask(requests)
            for index in [0, 2] {
                let theirBox = answers[index].bytes("m")
                #expect(theirBox == box, generator.comment)
                #expect(NaClBox.open(theirBox ?? [], nonce: nonce, key: key) == message)
            }
            for index in [1, 3] { #expect(answers[index].bytes("m") == message, generator.comment) }
            #expect(answers[4].error != nil)
        }
    }

    @Test(arguments: sizes)
    func attachmentsMatchTheirSecretboxes(_ size: Int) throws {
        try withGenerator { generator in
            let file = generator.bytes(size)
            let (key, nonce) = (generator.bytes(32), generator.bytes(24))
            let secret = SecretBytes(copying: key)
            let blob = try Whisper2AttachmentTests.blob(file, key: secret)
            let answers = try Peers.ask([
                [
                    "op": "nacl_secretbox", "direction": "open", "key": Peers.text(key),
                    "nonce": Peers.text(Array(blob.prefix(24))),
                    "m": Peers.text(Array(blob.dropFirst(24))),
                ],
                [
                    "op": "nacl_secretbox", "direction": "seal", "key": Peers.text(key),
                    "nonce": Peers.text(nonce), "m": Peers.text(file),
                ],
            ])
            #expect(answers[0].bytes("m") == file, generator.comment)
            let theirs = nonce + (answers[1].bytes("m") ?? [])
            let opened = release {
                try Whisper2AttachmentReader(SeekableMemory(theirs), key: secret)
            }
            #expect(opened.error == nil && opened.bytes == file, generator.comment)
        }
    }

    @Test func keysAreConvertedAlike() throws {
        try withGenerator { generator in
            let seeds = (0..<50).map { _ in generator.bytes(32) }
            let answers = try Peers.ask(seeds.map { ["op": "convert", "seed": Peers.text($0)] })
            for (seed, answer) in zip(seeds, answers) {
                let seed = SecretBytes(copying: seed)
                let key = SigningKey(seed: seed)
                #expect(answer.bytes("public") == key.publicKey, generator.comment)
                let secret = x25519Secret(fromEd25519Seed: seed).withBytes { Array($0) }
                #expect(answer.bytes("x_secret") == secret, generator.comment)
                #expect(answer.bytes("x_public") == x25519PublicKey(fromEd25519: key.publicKey))
            }
        }
    }

    @Test(arguments: [
        ("english", Wordlist.english), ("french", .french), ("japanese", .japanese),
        ("spanish", .spanish), ("korean", .korean), ("italian", .italian), ("czech", .czech),
        ("portuguese", .portuguese), ("chinese_simplified", .chineseSimplified),
        ("chinese_traditional", .chineseTraditional),
    ])
    func wordsAndSeedsMatchMnemonics(_ language: String, _ wordlist: Wordlist) throws {
        try withGenerator { generator in
            let entropies = [16, 20, 24, 28, 32].map { generator.bytes($0) }
            let passphrase = "pass é ヰ"
            let answers = try Peers.ask(
                entropies.map {
                    [
                        "op": "words", "language": language, "entropy": Peers.text($0),
                        "passphrase": passphrase,
                    ]
                })
            for (entropy, answer) in zip(entropies, answers) {
                let own = Mnemonic(entropy: SecretBytes(copying: entropy), wordlist: wordlist)
                let read = try Mnemonic(parsing: answer["words"], wordlist: wordlist)
                #expect(
                    read.sentenceText().isSameBytes(as: own.sentenceText()), generator.comment)
                let seed = own.seed(
                    passphrase: passphrase.decomposedStringWithCompatibilityMapping)
                #expect(answer.bytes("seed") == seed.withBytes { Array($0) }, generator.comment)
            }
        }
    }

    @Test func accountsAreTheSameOnBothSides() throws {
        let sentences = [12, 24].map { Mnemonic(randomWordCount: $0) }
        let answers = try Peers.ask(
            sentences.map { ["op": "whisper2_identity", "words": $0.sentenceText()] })
        for (mnemonic, answer) in zip(sentences, answers) {
            let keys = Whisper2Keys(mnemonic: mnemonic)
            #expect(answer.bytes("enc") == keys.encryptionKey)
            #expect(answer.bytes("sign") == keys.signingKey)
            let backup = Whisper2ContactsBackup(sealing: Array("[]".utf8), with: keys)
            let opened = try Peers.ask([
                "op": "nacl_secretbox", "direction": "open", "key": answer["contacts"],
                "nonce": Peers.text(backup.nonce), "m": Peers.text(backup.box),
            ])
            #expect(opened.bytes("m") == Array("[]".utf8))
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 8000])
    func messagesAreReadOnBothSides(_ size: Int) throws {
        let (ours, theirs) = (Mnemonic(randomWordCount: 12), Mnemonic(randomWordCount: 24))
        let keys = Whisper2Keys(mnemonic: ours)
        let contact = Whisper2Keys(mnemonic: theirs).contact(Whisper2Vectors.bobID)
        try withGenerator { generator in
            let text = generator.bytes(size).map { 0x20 + $0 % 90 }
            for group in [nil, Whisper2Vectors.group] {
                let type = group == nil ? "send_message" : "group_send_message"
                let sent = try Whisper2Message.seal(
                    text, with: keys, from: Whisper2Vectors.aliceID, to: contact, group: group,
                    time: 1_730_000_000_000)
                let record = sent.record
                let read = try Peers.ask([
                    "op": "whisper2_open", "words": theirs.sentenceText(),
                    "sign": Peers.text(keys.signingKey), "pk": Peers.text(keys.encryptionKey),
                    "type": type, "id": sent.id, "from": "WSP-YS3T-HJGR-KQBZ",
                    "to": group ?? "WSP-WI7U-4VDX-HXY2", "time": "1730000000000",
                    "nonce": record["nonce"]?.string ?? "",
                    "ciphertext": record["ciphertext"]?.string ?? "",
                    "sig": record["sig"]?.string ?? "",
                ])
                #expect(read.bytes("m") == text, generator.comment)

                let nonce = Peers.text(generator.bytes(24))
                let answer = try Peers.ask([
                    "op": "whisper2_seal", "words": theirs.sentenceText(),
                    "pk": Peers.text(keys.encryptionKey), "m": Peers.text(text), "nonce": nonce,
                    "type": type, "id": sent.id, "from": "WSP-WI7U-4VDX-HXY2",
                    "to": group ?? "WSP-YS3T-HJGR-KQBZ", "time": "1730000000001",
                ])
                let message = try Whisper2Message(
                    record: JSONObject([
                        ("protocolVersion", .integer(1)), ("cryptoVersion", .integer(1)),
                        ("messageId", .string(sent.id)), ("groupId", group.map { .string($0) }),
                        ("from", .string("WSP-WI7U-4VDX-HXY2")),
                        ("to", .string("WSP-YS3T-HJGR-KQBZ")),
                        ("msgType", .string("text")), ("timestamp", .integer(1_730_000_000_001)),
                        ("nonce", .string(nonce)), ("ciphertext", .string(answer["ciphertext"])),
                        ("sig", .string(answer["sig"])),
                    ]))
                let opened = try message.open(
                    with: keys, as: Whisper2Vectors.aliceID, from: contact)
                #expect(opened.plaintext == text && opened.isVerified, generator.comment)
            }
        }
    }
}
