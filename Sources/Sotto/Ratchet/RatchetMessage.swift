import Crypto

/// The public part of a ratchet message (Double Ratchet §3.4).
struct RatchetHeader: Sendable, Equatable {
    /// The sender's current ratchet key, 32 bytes.
    let publicKey: [UInt8]
    /// The message's number in its chain, from 0.
    let number: UInt32
    /// The length of the sender's previous chain.
    let previousLength: UInt32

    /// `AD ‖ key ‖ u32be(number) ‖ u32be(previousLength)`: 104 bytes.
    func authenticatedData(_ associatedData: [UInt8]) -> [UInt8] {
        associatedData + publicKey + number.bigEndianBytes + previousLength.bigEndianBytes
    }
}

/// An encrypted message of a session.
package struct RatchetMessage: Sendable, Equatable {
    let header: RatchetHeader
    /// nonce (12) ‖ ciphertext ‖ tag (16), AES-256-GCM.
    package let combined: [UInt8]
    /// The member `kem` as it arrived, or `nil` if it is absent or null. Only the step of a hybrid session reads it, with
    /// ``RatchetKEM/init(_:hasCiphertext:)``: a message of a known chain opens whatever it holds.
    package let kem: JSON?

    /// The payload object: `ciphertext`, `ratchetPublicKey`, `chainLength` (the number + 1),
    /// `previousChainLength`, `kem`.
    package var payload: JSONObject {
        JSONObject([
            ("ciphertext", .base64(combined)),
            ("ratchetPublicKey", .base64(header.publicKey)),
            ("chainLength", .integer(Int64(header.number) + 1)),
            ("previousChainLength", .integer(Int64(header.previousLength))),
            ("kem", kem),
        ])
    }

    init(header: RatchetHeader, combined: [UInt8], kem: JSON? = nil) {
        self.header = header
        self.combined = combined
        self.kem = kem
    }

    /// Reads a payload object. Throws ``RatchetError/payload``.
    package init(payload: JSONObject) throws(RatchetError) {
        let fields = Fields<RatchetError>(payload)
        combined = try fields["ciphertext"].bytes { $0 >= AESGCM.overhead }
        header = RatchetHeader(
            publicKey: try fields["ratchetPublicKey"].bytes(count: 32),
            number: try fields["chainLength"].integer(in: 1...Session.maximumCounter + 1) - 1,
            previousLength: try fields["previousChainLength"].integer(
                in: 0...Session.maximumCounter))
        kem = fields["kem"].nullable?.value
    }
}

extension RatchetMessage {
    /// Decrypts the message with its message key. Throws ``RatchetError/authentication``.
    func open(
        with key: MessageKey, _ associatedData: [UInt8]
    ) throws(RatchetError) -> [UInt8] {
        guard
            let plaintext = AESGCM.open(
                combined, authenticating: header.authenticatedData(associatedData),
                key: key.secret.symmetricKey)
        else { throw .authentication }
        return plaintext
    }
}

/// The position of a message in a session: the sender's ratchet key, and the number in the chain of that key.
///
/// It comes from the header, which is authenticated only together with the message.
public struct ChainPosition: Sendable, Hashable {
    /// The sender's ratchet key, 32 bytes.
    public let key: [UInt8]
    /// The message's number in the chain, from 0.
    public let number: UInt32
}

extension RatchetMessage {
    /// The position that the header names.
    package var position: ChainPosition {
        ChainPosition(key: header.publicKey, number: header.number)
    }
}
