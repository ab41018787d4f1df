import CSodium

/// CPace, a password-authenticated key exchange (draft-irtf-cfrg-cpace-20), with ristretto255 and SHA-512 in the
/// initiator and responder form. The names of the draft's functions are in the comments.
enum CPace {
    /// The bytes of a public share, a ristretto255 element.
    static let shareBytes = Int(crypto_core_ristretto255_BYTES)
    /// The bytes of the intermediate session key, ISK.
    static let keyBytes = Int(crypto_hash_sha512_BYTES)
    /// The bytes of the session id, sid.
    static let sessionBytes = 16

    /// G.DSI of CPACE-RISTR255-SHA512.
    private static let domain = Array("CPaceRistretto255".utf8)
    /// H.s_in_bytes: the block of SHA-512.
    private static let blockBytes = 128

    /// A side's public message: its share and its associated data, Ya and ADa, or Yb and ADb.
    struct Message: Sendable, Equatable {
        let share: [UInt8]
        let data: [UInt8]

        /// `lv_cat(Y, AD)`.
        var transcript: [UInt8] { lengthValue(share) + lengthValue(data) }
    }

    /// Returns a random scalar, `sample_scalar()`.
    static func randomScalar() -> SecretBytes {
        Sodium.start()
        return SecretBytes(count: Int(crypto_core_ristretto255_SCALARBYTES)) { out in
            crypto_core_ristretto255_scalar_random(
                out.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Returns the generator of a password, `calculate_generator(H, PRS, CI, sid)`, 32 bytes. `channel` is CI.
    static func generator(
        password: borrowing SecretBytes, channel: [UInt8], session: [UInt8]
    ) -> SecretBytes {
        Sodium.start()
        var text = generatorString(password, channel, session)
        defer { wipe(&text) }
        let hash = SecretBytes(count: keyBytes) { out in
            _ = crypto_hash_sha512(
                out.baseAddress!.assumingMemoryBound(to: UInt8.self), text, UInt64(text.count))
        }
        return hash.withPointer { hash in
            SecretBytes(count: shareBytes) { out in
                _ = crypto_core_ristretto255_from_hash(
                    out.baseAddress!.assumingMemoryBound(to: UInt8.self), hash)
            }
        }
    }

    /// Returns `generator_string(G.DSI, PRS, CI, sid, H.s_in_bytes)`. The caller wipes it.
    private static func generatorString(
        _ password: borrowing SecretBytes, _ channel: [UInt8], _ session: [UInt8]
    ) -> [UInt8] {
        let length = leb128(password.count)
        let (head, tail) = (lengthValue(domain), lengthValue(channel) + lengthValue(session))
        let zeros = max(0, blockBytes - 1 - length.count - password.count - head.count)
        let padding = lengthValue([UInt8](repeating: 0, count: zeros))
        let count = head.count + length.count + password.count + padding.count + tail.count
        return password.withBytes { password in
            secretArray(count: count) { out in
                out += head
                out += length
                out += password
                out += padding
                out += tail
            }
        }
    }

    /// Returns the public share of a scalar, `scalar_mult(y, g)`.
    static func share(
        of scalar: borrowing SecretBytes, generator: borrowing SecretBytes
    ) -> [UInt8] {
        var share = [UInt8](repeating: 0, count: shareBytes)
        let isDone = scalar.withPointer { scalar in
            generator.withPointer { crypto_scalarmult_ristretto255(&share, scalar, $0) == 0 }
        }
        wipeStack()
        // A generator of prime order times a scalar that is not zero is never the identity.
        precondition(isDone, "a share that is the identity element")
        return share
    }

    /// Returns the shared element K, `scalar_mult_vfy(y, Y)`. Returns `nil` if the peer's share is no element or K is
    /// the identity element: the exchange must be aborted.
    static func sharedElement(
        _ scalar: borrowing SecretBytes, with share: [UInt8]
    ) -> SecretBytes? {
        guard share.count == shareBytes else { return nil }
        var isValid = false
        let shared = SecretBytes(count: shareBytes) { out in
            isValid =
                scalar.withPointer {
                    crypto_scalarmult_ristretto255(
                        out.baseAddress!.assumingMemoryBound(to: UInt8.self), $0, share)
                } == 0
        }
        wipeStack()
        guard isValid else { return nil }
        return shared
    }

    /// Returns the intermediate session key: `H.hash(lv_cat(G.DSI ‖ "_ISK", sid, K) ‖ transcript_ir(…))`, 64 bytes.
    static func key(
        shared: borrowing SecretBytes, session: [UInt8], initiator: Message, responder: Message
    ) -> SecretBytes {
        Sodium.start()
        let head = lengthValue(domain + Array("_ISK".utf8)) + lengthValue(session)
        let length = leb128(shared.count)
        let tail = initiator.transcript + responder.transcript
        var text = shared.withBytes { shared in
            secretArray(count: head.count + length.count + shared.count + tail.count) { out in
                out += head
                out += length
                out += shared
                out += tail
            }
        }
        defer { wipe(&text) }
        return SecretBytes(count: keyBytes) { out in
            _ = crypto_hash_sha512(
                out.baseAddress!.assumingMemoryBound(to: UInt8.self), text, UInt64(text.count))
        }
    }

    /// Returns `prepend_len(bytes)`: the length in LEB128, and the bytes.
    static func lengthValue(_ bytes: [UInt8]) -> [UInt8] { leb128(bytes.count) + bytes }

    private static func leb128(_ count: Int) -> [UInt8] {
        var (rest, out) = (count, [UInt8]())
        repeat {
            out.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return out
    }
}
