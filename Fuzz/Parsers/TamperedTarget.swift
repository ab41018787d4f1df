import Sotto
import SottoMessengers

extension FuzzTarget {
    /// An encrypted object, changed. The first byte selects the object, and the other bytes are XORed over it. It must
    /// open only if nothing changed. A message that is refused must not change any state.
    ///
    /// SHAiny's CBC form is excluded, because an attacker who knows a text can change it.
    static let tampered = FuzzTarget("tampered") { bytes in
        guard let first = bytes.first else { return }
        let forms = TamperedForm.all
        let form = forms[Int(first) % forms.count]
        let mask = bytes.dropFirst().prefix(form.sealed.count)
        var changed = form.sealed
        for (place, byte) in mask.enumerated() { changed[place] ^= byte }
        let isSame = mask.allSatisfy { $0 == 0 }
        precondition(form.opens(changed) == isSame, form.name)
        // Truncated after the mask, and extended by the rest of the bytes.
        let cut = Array(changed[..<mask.count])
        precondition(form.opens(cut) == (isSame && cut.count == changed.count), form.name)
        let rest = bytes.dropFirst(1 + mask.count)
        precondition(form.opens(changed + rest) == (isSame && rest.isEmpty), form.name)
    }
}

/// An encrypted object, and the function that opens it.
private struct TamperedForm: Sendable {
    let name: String
    let sealed: [UInt8]
    let opens: @Sendable ([UInt8]) -> Bool

    static let all: [TamperedForm] = {
        do {
            return [
                phrase, shainy, try file, try ownCopy, try session, try senderKey, try sealed,
                try whisper2, whisper2Backup, try whisper2Attachment, try mercurio(signed: true),
                try mercurio(signed: false), try hybridSession,
            ]
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    private static let text = Array("attack at dawn".utf8)
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let time = Timestamp(seconds: 1_700_000_000)
    private static let reader = FuzzTarget.reader

    private static var phrase: TamperedForm {
        let phrase = PhraseKey(root: SecretBytes(copying: key))
        let sealed = Base64.url.decode(phrase.seal(text).dropFirst(PhraseKey.mark.count))!
        return TamperedForm(name: "phrase", sealed: sealed) {
            (try? phrase.open(PhraseKey.mark + Base64.url.encode($0))) == text
        }
    }

    private static var shainy: TamperedForm {
        let chat = ShainyChat(phrase: SecretBytes(copying: key))
        let sealed = chat.encrypt(text, gcm: true).split(separator: ":").flatMap {
            Sotto.bytes(hex: $0)!
        }
        return TamperedForm(name: "shainy", sealed: sealed) { bytes in
            let parts = [bytes.prefix(12), bytes.dropFirst(12).dropLast(16), bytes.suffix(16)]
            return (try? chat.unverifiedText(parts.map { hex($0) }.joined(separator: ":"))) != nil
        }
    }

    private static var file: TamperedForm {
        get throws {
            let sealed = AESGCM.seal(text, key: SecretBytes(copying: key))
            return TamperedForm(name: "file", sealed: sealed) {
                (try? openFile($0, key: SecretBytes(copying: key))) != nil
            }
        }
    }

    private static var ownCopy: TamperedForm {
        get throws {
            let sealed = try SelfEncryption.seal(text, for: reader)
            return TamperedForm(name: "own copy", sealed: sealed) {
                (try? SelfEncryption.open($0, with: reader)) != nil
            }
        }
    }

    /// The header fields precede the ciphertext: key, number, length of the previous chain.
    private static var session: TamperedForm {
        get throws {
            let signed = SecretPreKey(.signed, id: 1)
            let bundle = try PreKeyBundle(
                identityKey: reader.signingKey.publicKey,
                signedPreKey: signed.signed(by: reader, at: time), pqSignedPreKey: nil,
                oneTimePreKey: nil)
            let writer = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "writer")
            var begun = try PeerSession(by: writer, with: bundle)
            _ = try begun.seal(body: [:], from: writer, time: time)
            let envelope = try begun.seal(body: [:], from: writer, time: time)
            let payload = envelope.payload
            let session = try PeerSession(
                by: reader, accepting: PeerSession.preKeyHeader(in: envelope)!,
                with: .init(signed: signed, postQuantum: nil, oneTime: nil))
            let numbers = ["chainLength", "previousChainLength"]
            let sealed =
                base64(payload, "ratchetPublicKey")
                + numbers.flatMap { UInt32(payload[$0]!.integer!).bigEndianBytes }
                + base64(payload, "ciphertext")
            return TamperedForm(name: "session", sealed: sealed) { bytes in
                guard bytes.count > 40 else { return false }
                var payload = payload
                payload["ratchetPublicKey"] = base64(bytes[..<32])
                for (index, name) in numbers.enumerated() {
                    let place = 32 + index * 4
                    payload[name] = .integer(
                        Int64(UInt32(bigEndianBytes: bytes[place..<place + 4])!))
                }
                payload["ciphertext"] = base64(bytes[40...])
                var copy = session
                let before = copy.encoded()
                let isOpen =
                    (try? copy.open(
                        Envelope(
                            id: envelope.id, suite: .ratchet, to: reader.id, from: writer.id,
                            time: time, payload: payload))) != nil
                precondition(
                    isOpen || copy.encoded() == before, "a refused message changed the state")
                return isOpen
            }
        }
    }

    /// The first message of an answer in a hybrid session. The fields of `kem` are between the header and the ciphertext.
    private static var hybridSession: TamperedForm {
        get throws {
            let (signed, postQuantum) = (
                SecretPreKey(.signed, id: 1), SecretPreKey(.postQuantum, id: 1)
            )
            let bundle = try PreKeyBundle(
                identityKey: reader.signingKey.publicKey,
                signedPreKey: signed.signed(by: reader, at: time),
                pqSignedPreKey: postQuantum.signed(by: reader, at: time), oneTimePreKey: nil)
            let writer = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "writer")
            var session = try PeerSession(by: writer, with: bundle)
            let first = try session.seal(body: [:], from: writer, time: time)
            var answering = try PeerSession(
                by: reader, accepting: PeerSession.preKeyHeader(in: first)!,
                with: .init(signed: signed, postQuantum: postQuantum, oneTime: nil))
            _ = try answering.open(first)
            let envelope = try answering.seal(body: [:], from: reader, time: time)
            let payload = envelope.payload
            let kem = payload["kem"]!.object!
            let sealed =
                base64(payload, "ratchetPublicKey") + base64(kem, "key")
                + base64(kem, "ciphertext") + base64(payload, "ciphertext")
            let before = session.encoded()
            return TamperedForm(name: "hybrid session", sealed: sealed) { [session] bytes in
                guard bytes.count > 2_304 else { return false }
                var payload = payload
                payload["ratchetPublicKey"] = base64(bytes[..<32])
                payload["kem"] = .object([
                    "key": base64(bytes[32..<1_216]), "ciphertext": base64(bytes[1_216..<2_304]),
                ])
                payload["ciphertext"] = base64(bytes[2_304...])
                var copy = session
                let isOpen =
                    (try? copy.open(
                        Envelope(
                            id: envelope.id, suite: .ratchet, to: writer.id, from: reader.id,
                            time: time, payload: payload))) != nil
                precondition(
                    isOpen || copy.encoded() == before, "a refused message changed the state")
                return isOpen
            }
        }
    }

    private static var senderKey: TamperedForm {
        get throws {
            var chain = SenderKeyChain(groupID: "fuzz")
            let received = ReceivedSenderKeyChain(chain.distribution)
            _ = try chain.seal(text)
            let payload = try chain.seal(text).payload
            let sealed =
                Sotto.bytes(hex: payload["chainId"]!.string!)!
                + UInt32(payload["iteration"]!.integer!).bigEndianBytes
                + base64(payload, "signature") + base64(payload, "ciphertext")
            return TamperedForm(name: "sender key", sealed: sealed) { bytes in
                guard bytes.count > 100,
                    let message = try? SenderKeyMessage(payload: [
                        "chainId": .string(hex(bytes[..<32])),
                        "iteration": .integer(
                            Int64(UInt32(bigEndianBytes: bytes[32..<36])!)),
                        "signature": base64(bytes[36..<100]), "ciphertext": base64(bytes[100...]),
                    ])
                else { return false }
                var copy = received
                let isOpen = (try? copy.open(message)) != nil
                precondition(
                    isOpen || copy.encoded() == received.encoded(),
                    "a refused message changed the state")
                return isOpen
            }
        }
    }

    private static var sealed: TamperedForm {
        get throws {
            let envelope = try Sealed.seal(
                body: [:], from: reader, to: reader.card(), classic: true, time: time)
            return TamperedForm(name: "sealed", sealed: base64(envelope.payload, "age")) { bytes in
                let changed = Envelope(
                    id: envelope.id, suite: .sealed, to: reader.id, time: time,
                    payload: ["age": base64(bytes[...])])
                return (try? Sealed.open(changed, with: reader)) != nil
            }
        }
    }

    private static let whisper2Keys = Whisper2Keys(mnemonic: Mnemonic(randomWordCount: 12))
    private static let whisperID = WhisperID(
        symbols: [UInt8](0..<10))

    /// Nonce, signature, time, box.
    private static var whisper2: TamperedForm {
        get throws {
            let contact = whisper2Keys.contact(whisperID)
            let record = try Whisper2Message.seal(
                text, with: whisper2Keys, from: whisperID, to: contact, time: 1_730_000_000_000
            ).record
            let sealed =
                base64(record, "nonce") + base64(record, "sig")
                + UInt64(record["timestamp"]!.integer!).bigEndianBytes
                + base64(record, "ciphertext")
            return TamperedForm(name: "whisper2", sealed: sealed) { bytes in
                guard bytes.count > 96 else { return false }
                var record = record
                record["nonce"] = base64(bytes[..<24])
                record["sig"] = base64(bytes[24..<88])
                record["timestamp"] = .integer(
                    Int64(truncatingIfNeeded: UInt64(bigEndianBytes: bytes[88..<96])!))
                record["ciphertext"] = base64(bytes[96...])
                guard let message = try? Whisper2Message(record: record) else { return false }
                return (try? message.open(with: whisper2Keys, as: whisperID, from: contact)) != nil
            }
        }
    }

    private static var whisper2Backup: TamperedForm {
        let backup = Whisper2ContactsBackup(sealing: text, with: whisper2Keys)
        return TamperedForm(name: "whisper2 backup", sealed: backup.file) {
            Whisper2ContactsBackup(file: $0)?.open(with: whisper2Keys) != nil
        }
    }

    private static var whisper2Attachment: TamperedForm {
        get throws {
            let secret = SecretBytes(copying: key)
            let sealed = try drain(
                Whisper2AttachmentWriter(SeekableMemory(text), key: secret))
            precondition(sealed.isWhole)
            return TamperedForm(name: "whisper2 attachment", sealed: sealed.bytes) { bytes in
                let secret = SecretBytes(copying: key)
                guard
                    let source = try? Whisper2AttachmentReader(SeekableMemory(bytes), key: secret)
                else { return false }
                let read = drain(source)
                precondition(
                    read.isWhole || read.bytes.isEmpty,
                    "plaintext was returned before the tag was verified")
                return read.isWhole
            }
        }
    }

    /// Nonce, tag, wrapped key, signature, content. Without a signature, only the nonce, the tag, the wrapped key and
    /// the content.
    private static func mercurio(signed: Bool) throws -> TamperedForm {
        let key = try MercurioPrivateKey(bits: 2048)
        let writer = MercurioIdentity(mnemonic: Mnemonic(randomWordCount: 12))
        var record = try MercurioMessage.seal(
            text, from: writer, to: reader.id, key: key.publicKey
        ).record
        if !signed { record["sig"] = nil }
        let names = [
            ("nonce", 12), ("mac", 16), ("encryptedAesKey", 256),
            signed ? ("sig", 64) : ("sig", 0),
        ]
        let fixed = names.filter { $0.1 > 0 }
        let good = record
        let sealed =
            fixed.flatMap { base64(good, $0.0) } + base64(good, "encryptedContent")
        return TamperedForm(name: signed ? "mercurio" : "unsigned mercurio", sealed: sealed) {
            bytes in
            var record = good
            var rest = bytes[...]
            for (name, count) in fixed {
                guard rest.count >= count else { return false }
                record[name] = base64(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            record["encryptedContent"] = base64(rest)
            guard let message = try? MercurioMessage(record: record) else { return false }
            return (try? message.open(with: key, as: reader.id, allowUnproven: !signed)) != nil
        }
    }

    // MARK: Helpers

    private static func base64(_ record: JSONObject, _ name: String) -> [UInt8] {
        Base64.standard.decode(record[name]!.string!)!
    }

    private static func base64(_ bytes: ArraySlice<UInt8>) -> JSON {
        .string(Base64.standard.encode(Array(bytes)))
    }

    private static func drain(_ source: any ByteSource) -> (bytes: [UInt8], isWhole: Bool) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var bytes: [UInt8] = []
        do {
            while true {
                let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
                if count == 0 { return (bytes, true) }
                bytes += buffer[..<count]
            }
        } catch {
            return (bytes, false)
        }
    }
}
