import Sotto
import SottoMessengers
import TestSupport
import Testing

/// The known flaws of the format, with one test for each fix.
struct Whisper2FlawTests {
    /// Challenges are signed under the message key without a label.
    @Test func b1ChallengesAreExactly32Bytes() throws {
        let pair = try Whisper2Pair()
        let message = try pair.message()
        #expect(throws: Whisper2ChallengeError.message) {
            try pair.alice.answer(challenge: message.frame.canonical)
        }
        #expect(throws: Whisper2ChallengeError.message) {
            try pair.alice.answer(challenge: Array("v1\n".utf8) + [UInt8](repeating: 65, count: 29))
        }
        for size in [0, 1, 31, 33, 64, 300] {
            #expect(throws: Whisper2ChallengeError.size(size)) {
                try pair.alice.answer(challenge: [UInt8](repeating: 1, count: size))
            }
        }
        let challenge = randomBytes(31) + [1]
        let answer = try pair.alice.answer(challenge: [0] + challenge.dropFirst())
        #expect(
            Whisper2Keys.isAnswer(
                answer, to: [0] + challenge.dropFirst(), by: pair.alice.signingKey))
        // Every canonical string is longer.
        #expect(message.frame.canonical.count > 100)
        #expect(
            !Whisper2Keys.isAnswer(
                message.frame.signature, to: message.frame.canonical, by: pair.alice.signingKey))
    }

    /// The apps never verify signatures.
    @Test func b2SignaturesAreVerifiedBeforeTheBoxIsOpened() throws {
        let pair = try Whisper2Pair()
        var record = try pair.message().record
        // A valid box under a wrong signature: the server has rebuilt a true message.
        record["messageId"] = .string(Envelope.newID())
        #expect(pair.failure(record).isError(Whisper2OpenError.authentication))
        // Without the signing key, the message is opened only on request, and is not called verified.
        #expect(
            pair.failure(record, from: pair.unknownSigner).isError(Whisper2OpenError.unverified))
        let opened = try Whisper2Message(record: record).open(
            with: pair.bob, as: Whisper2Vectors.bobID, from: pair.unknownSigner,
            allowUnverified: true)
        #expect(!opened.isVerified)
        // A known key is always used, even if the caller allows unverified messages.
        #expect(
            pair.failure(record, allowUnverified: true).isError(Whisper2OpenError.authentication))
    }

    /// msgType, replyTo, reactions and the attachment are not signed.
    @Test func b3UnsignedFieldsAreLabelledUntrusted() throws {
        let pair = try Whisper2Pair()
        var record = try pair.message("hi").record
        record["msgType"] = .string("location")
        record["replyTo"] = .string(Envelope.newID())
        record["reactions"] = .object(["x": .array([])])
        let message = try Whisper2Message(record: record)
        let opened = try message.open(
            with: pair.bob, as: Whisper2Vectors.bobID, from: pair.aliceContact)
        // Changes of them are not detected, because they are not signed. The content comes only from the box.
        #expect(opened.plaintext == Array("hi".utf8))
        #expect(message.untrusted.kind == .location && message.untrusted.replyTo != nil)
        // The signature of a group message does not cover the member; the box's key does.
        let group = try pair.message("hi", group: Whisper2Vectors.group)
        var moved = group.record
        moved["to"] = .string(WhisperID.random().description)
        let other = try Whisper2Message(record: moved)
        #expect(throws: Whisper2OpenError.authentication) {
            try other.open(
                with: Whisper2MessageTests.members[0], as: other.to, from: pair.aliceContact)
        }
    }

    /// One key opens everything, and its owner can make boxes in the peer's name.
    @Test func b4ARecipientCanForgeABoxButNotASignature() throws {
        let pair = try Whisper2Pair()
        // Bob makes a box that appears to come from Alice.
        let forged = try Whisper2Message.seal(
            Array("I owe bob 100".utf8), with: pair.bob, from: Whisper2Vectors.bobID,
            to: pair.aliceContact, time: 1)
        var record = forged.record
        record["from"] = .string(Whisper2Vectors.aliceID.description)
        record["to"] = .string(Whisper2Vectors.bobID.description)
        #expect(pair.failure(record).isError(Whisper2OpenError.authentication))
        // A caller that allows unverified messages accepts it, which is why the flag is needed.
        #expect(pair.failure(record, from: pair.unknownSigner, allowUnverified: true) == nil)
    }

    /// The id proves nothing, and an iPhone's code has no signing key.
    @Test func b5TheURLPinsBothKeys() throws {
        let pair = try Whisper2Pair()
        let url = Whisper2AddURL.text(pair.aliceContact)
        #expect(try Whisper2AddURL.contact(url) == pair.aliceContact)
        #expect(url.contains("&skey="))
        let bare = try Whisper2AddURL.contact(Whisper2AddURL.text(pair.unknownSigner))
        #expect(bare.signingKey == nil)
        // The server assigns the id to another account: the pinned keys refuse that account's messages.
        let other = Whisper2MessageTests.members[1]
        let message = try Whisper2Message.seal(
            [], with: other, from: Whisper2Vectors.aliceID, to: pair.bobContact, time: 1)
        #expect(pair.failure(message.record).isError(Whisper2OpenError.authentication))
    }

    /// The checksum does not detect exchanged symbols.
    @Test func b6AWrongChecksumIsOnlyAWarning() throws {
        let swapped = try #require(WhisperID("WSP-SY3T-HJGR-KQBZ"))
        #expect(swapped.isChecksumValid)
        #expect(swapped != Whisper2Vectors.aliceID)
        let wrong = try #require(WhisperID("WSP-YS3T-HJGR-KQBA"))
        #expect(!wrong.isChecksumValid)
    }

    /// The canonical string joins fields with line feeds.
    @Test func b7ControlCharactersAreRefusedInEveryField() throws {
        #expect(WhisperID("WSP-YS3T-HJGR-KQBZ\n") == nil)
        #expect(WhisperID("\nWSP-YS3T-HJGR-KQBZ") == nil)
        #expect(WhisperID("WSP-YS3T-HJGR-KQBZ\0") == nil)
        let pair = try Whisper2Pair()
        let record = try pair.message(group: Whisper2Vectors.group).record
        for character in ["\n", "\r", "\0", "\t", "\u{1B}", "\u{7F}", "\u{85}"] {
            for name in [
                "messageId", "from", "to", "groupId", "msgType", "nonce", "ciphertext", "sig",
            ] {
                let value = try #require(record[name]?.string)
                for text in [value + character, character + value] {
                    var changed = record
                    changed[name] = .string(text)
                    #expect(pair.failure(changed).isError(Whisper2RecordError.member(name)))
                }
            }
        }
    }

    /// The window is ten minutes, and does not apply to offline recipients.
    @Test func b8AReplayHasTheSameIdAndItsAge() throws {
        let pair = try Whisper2Pair()
        let message = try pair.message()
        let again = try Whisper2Message(record: message.record)
        #expect(again.id == message.id && again == message)
        // A new id is detected, because the id is signed.
        var record = message.record
        record["messageId"] = .string(Envelope.newID())
        #expect(pair.failure(record).isError(Whisper2OpenError.authentication))
        let time = message.frame.time
        #expect(message.frame.skew(from: time + 600_000) <= 600_000)
        #expect(message.frame.skew(from: time - 600_001) > 600_000)
        #expect(message.frame.skew(from: .min) == time)
        #expect(message.frame.skew(from: .max) > 600_000)
    }

    /// The project has two rules for the X25519 secret.
    @Test func b9TheClientsRuleIsTheDefault() throws {
        let known = Whisper2Vectors.person("frozen")
        #expect(hex(try known.keys().encryptionKey).hasPrefix("b0320981"))
        #expect(hex(try known.keys(.serverVector).encryptionKey).hasPrefix("19c6d0f9"))
    }

    /// One tag covers the whole file; the pointer's nonce may differ; one key box serves a whole group.
    @Test func b10EachMemberHasTheirOwnKeyBox() throws {
        let pair = try Whisper2Pair()
        let carol = Whisper2MessageTests.members[0]
        let carolID = WhisperID.random()
        let file = [UInt8](repeating: 5, count: 100_000)
        let key = SecretBytes(randomCount: 32)
        let blob = try Whisper2AttachmentTests.blob(file, key: key)
        let recipients = try [pair.bobContact, carol.contact(carolID)].map { contact in
            Whisper2GroupMessage.Recipient(
                contact,
                attachment: try Whisper2AttachmentPointer(
                    objectKey: "o", contentType: "x/y", ciphertextSize: Int64(blob.count),
                    // An iPhone does not write the blob's nonce here.
                    fileNonce: randomBytes(24), fileKey: key, with: pair.alice, to: contact))
        }
        let sent = try Whisper2GroupMessage.seal(
            [], hints: Whisper2Hints(kind: .file), with: pair.alice, from: Whisper2Vectors.aliceID,
            to: recipients, group: Whisper2Vectors.group, time: 1)
        let read = try Whisper2GroupMessage(record: JSON.object(parsing: sent.record.serialized()))
        #expect(read == sent)
        for (keys, id) in [(pair.bob, Whisper2Vectors.bobID), (carol, carolID)] {
            let pointer = try #require(read.message(to: id)?.untrusted.attachment)
            let opened = try pointer.fileKey(with: keys, from: pair.aliceContact)
            let result = release { try Whisper2AttachmentReader(SeekableMemory(blob), key: opened) }
            #expect(result.bytes == file)
        }
        // The apps write one pointer outside `recipients`, for one of them.
        var record = sent.record
        record["attachment"] = .object(try #require(recipients[0].attachment).record)
        record["recipients"] = .array(
            try #require(record["recipients"]?.array).map { element in
                var element = element.object!
                element["attachment"] = nil
                return .object(element)
            })
        let shared = try Whisper2GroupMessage(record: record)
        #expect(shared.record == record)
        let pointer = try #require(shared.message(to: carolID)?.untrusted.attachment)
        do {
            _ = try pointer.fileKey(with: carol, from: pair.aliceContact)
            Issue.record("bob's box was opened by carol")
        } catch {
            #expect(error == .authentication)
        }
    }

    /// The apps accept words with a wrong checksum, and no passphrase.
    @Test func b11TheWordsChecksumIsCheckedAndAPassphraseChangesEveryKey() throws {
        let words = Whisper2Vectors.person("alice").mnemonic
        var wrong = words.split(separator: " ")
        wrong[0] = "zoo"
        #expect(throws: MnemonicError.checksum) {
            try Mnemonic(parsing: wrong.joined(separator: " "))
        }
        let mnemonic = try Mnemonic(parsing: words)
        let plain = Whisper2Keys(mnemonic: mnemonic)
        let other = Whisper2Keys(mnemonic: mnemonic, passphrase: "x")
        #expect(plain.encryptionKey != other.encryptionKey)
        #expect(plain.signingKey != other.signingKey)
        let backup = Whisper2ContactsBackup(sealing: [1], with: plain)
        #expect(backup.open(with: plain) == [1] && backup.open(with: other) == nil)
    }

    /// The apps do not escape base64 in the URL.
    @Test func b12TheWriterEscapesAndTheReaderRepairs() throws {
        try withGenerator { generator in
            for _ in 0..<100 {
                let contact = Whisper2Contact(
                    id: .random(), encryptionKey: generator.bytes(32), signingKey: nil)
                let key = Base64.standard.encode(contact.encryptionKey)
                let escaped = Whisper2AddURL.text(contact)
                let start = "whisper2://add?id=\(contact.id)&key="
                let raw = start + key
                for text in [
                    escaped, raw, raw.replacing("+", with: " "), String(raw.dropLast()),
                    raw.replacing("+", with: "%20"),
                    start + Base64.url.encode(contact.encryptionKey),
                    start.replacing("?id", with: "?x=%2B&id") + key, escaped.lowercasedEscapes,
                ] {
                    let read = try Whisper2AddURL.contact(text)
                    #expect(read == contact, generator.comment)
                }
            }
        }
        let pair = try Whisper2Pair()
        let url = Whisper2AddURL.text(pair.aliceContact)
        for (text, expected) in [
            (url + "&key=x", Whisper2AddURLError.duplicate), (url + "&id=x", .duplicate),
            (url + "&z=1&z=1", .duplicate), (url + "&z=%", .encoding), (url + "&z=%FF", .encoding),
            (url + "&z=%0", .encoding), ("whisper2:add?id=1", .scheme), ("", .scheme),
            (url.replacing("WSP-", with: "WSP"), .id), (url.replacing("&key", with: "&k"), .key),
            (url.replacing("&skey=", with: "&skey=A"), .signingKey),
            (url.replacing("&skey=", with: "&skey=&x="), .signingKey),
        ] {
            #expect(throws: expected, "\(text)") { try Whisper2AddURL.contact(text) }
        }
        for bad in BadKeys.load().badPublicKeys {
            let text =
                Whisper2AddURL.text(pair.unknownSigner) + "&skey="
                + Base64.standard.encode(bad.ed25519Public.bytes)
            #expect(throws: Whisper2AddURLError.signingKey) { try Whisper2AddURL.contact(text) }
        }
    }
}

extension String {
    /// Returns the URL with its escapes in lower-case digits.
    fileprivate var lowercasedEscapes: String {
        replacing("%2B", with: "%2b").replacing("%2F", with: "%2f").replacing("%3D", with: "%3d")
    }
}
