/// The member `kem` of a payload in a hybrid session: the ML-KEM-768 part of the step with which the sender's chain began.
///
/// It is the same in all messages of a chain. It is not authenticated by itself: the step binds it.
package struct RatchetKEM: Sendable, Equatable {
    /// The sender's encapsulation key, 1184 bytes.
    let key: [UInt8]
    /// The ciphertext for the receiver's key, 1088 bytes. `nil` in the initiator's first chain, because the signed prekey
    /// has no ML-KEM-768 key.
    let ciphertext: [UInt8]?

    init(key: [UInt8], ciphertext: [UInt8]?) {
        self.key = key
        self.ciphertext = ciphertext
    }

    /// Whether a sender adds the member to the message with this number: to 0, to the powers of two, and to the multiples
    /// of 64. After k lost messages at the beginning of a chain it comes again within k messages, and within 64.
    static func isSent(with number: UInt32) -> Bool {
        number == 0 || number & (number - 1) == 0 || number.isMultiple(of: 64)
    }

    /// The member: `{"key","ciphertext"}`.
    package var object: JSONObject {
        JSONObject([("key", .base64(key)), ("ciphertext", ciphertext.map { .base64($0) })])
    }

    /// Reads the member. `ciphertext` must be present if `hasCiphertext`, and absent otherwise. Throws
    /// ``RatchetError/payload``, also for a key whose coefficients are not reduced (FIPS 203 §7.2).
    package init(_ member: JSON, hasCiphertext: Bool) throws(RatchetError) {
        guard let object = member.object else { throw .payload }
        let fields = Fields<RatchetError>(object)
        key = try fields["key"].bytes(count: MLKEM.keyBytes768)
        ciphertext = try fields["ciphertext"].nullable?.bytes(count: MLKEM.ciphertextBytes768)
        guard (ciphertext != nil) == hasCiphertext, MLKEM.isReduced(key) else { throw .payload }
    }
}
