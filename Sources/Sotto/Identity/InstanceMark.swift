/// Returns the mark of a state at a relay, 16 bytes: the first half of HMAC-SHA-256 (RFC 2104) of
/// `relay name ‖ public key of the mailbox (32)` under the instance of the state, at most 64 bytes.
///
/// It is the same at each login of a state. Two marks of different relays or mailboxes can be compared only with the instance.
package func instanceMark(instance: [UInt8], relay: String, mailbox: KeyID) -> [UInt8] {
    instance.withUnsafeBytes { key in
        Array(hmacSHA256(ofLong: Array(relay.utf8) + mailbox.publicKey, key: key)[..<16])
    }
}
