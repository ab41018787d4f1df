package import Sotto
package import SottoWire

/// Envelopes and identities for tests.
package enum Sample {
    package static func identity() -> Identity {
        Identity(mnemonic: Mnemonic(randomWordCount: 24), name: "test")
    }

    /// Returns a door of a random phrase.
    package static func door() -> RoomDoor { RoomDoor(root: SecretBytes(randomCount: 32)) }

    /// Returns a decrypted message from nobody.
    package static func message(_ text: String, id: String = Envelope.newID()) -> Message {
        Message(
            id: id, from: nil, to: nil, time: nil, suite: .sealed, authenticated: false,
            body: Message.textBody(text))
    }

    package static func record(
        _ id: String = Envelope.newID(), to: KeyID, text: String = "AA==", ttl: Int64? = nil
    ) -> JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("envelope")), ("id", .string(id)),
            ("suite", .string("sealed")), ("to", .string(to.description)),
            ("time", .string("2026-01-01T00:00:00Z")), ("ttl", ttl.map { .integer($0) }),
            ("payload", .object(["age": .string(text)])),
        ])
    }

    package static func envelope(
        _ id: String = Envelope.newID(), to: KeyID, text: String = "AA==", ttl: Int64? = nil
    ) -> AddressedEnvelope {
        do { return try AddressedEnvelope(record(id, to: to, text: text, ttl: ttl)) } catch {
            preconditionFailure("\(error)")
        }
    }

    /// Returns prekeys of an owner: a signed one with this number, and one-time prekeys with these numbers.
    package static func preKeys(
        of owner: Identity, signed: UInt32 = 1, oneTime: Range<UInt32>, isPostQuantum: Bool = false
    ) -> PreKeyPublication {
        func signedPreKey(_ key: [UInt8], _ label: String) -> PreKeyBundle.SignedPreKey {
            .init(id: signed, key: key, signature: owner.signingKey.sign(Array(label.utf8) + key))
        }
        // A key of random bytes is refused when it is read.
        let postQuantum =
            isPostQuantum ? SecretPreKey(.postQuantum, id: signed).publicHalf.key : nil
        return PreKeyPublication(
            by: owner, signedPreKey: signedPreKey(randomBytes(32), ""),
            pqSignedPreKey: postQuantum.map { signedPreKey($0, "ratchet/pqspk/v1\0") },
            oneTimePreKeys: oneTime.map { .init(id: $0, key: randomBytes(32)) })
    }

    /// Returns the beginning of a JPEG file, up to the frame header that states this size (ITU-T T.81 §B.2.2).
    package static func jpeg(width: Int, height: Int, comment: String = "") -> [UInt8] {
        func word(_ value: Int) -> [UInt8] {
            [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
        }
        let comment = Array(comment.utf8)
        let segment = [0xFF, 0xFE] + word(comment.count + 2) + comment
        let frame = [0xFF, 0xC0] + word(11) + [8] + word(height) + word(width) + [1, 1, 0x11, 0]
        return [0xFF, 0xD8] + segment + frame
    }

    package static func id(_ line: String) -> String {
        (try? JSON.object(parsing: Array(line.utf8)))?["id"]?.string ?? ""
    }
}

extension Response {
    /// Whether the response opens a mailbox, with any token.
    package var isSession: Bool { if case .session = self { true } else { false } }
}
