import Sotto

extension FuzzTarget {
    /// A detached signature. One that is read from UTF-8 is written and read back unchanged. The bytes are also used as a trusted
    /// comment.
    static let minisign = FuzzTarget("minisign") { bytes in
        if let signature = try? MinisignSignature(bytes) {
            precondition(
                String(validating: bytes, as: UTF8.self) == nil
                    || (try? MinisignSignature(Array(signature.text.utf8))) == signature)
            _ = try? signature.verify(hash: hash, by: reader.signingKey.publicKey)
        }
        let comment = String(decoding: bytes, as: UTF8.self)
        guard
            let signature = try? MinisignSignature(
                hash: hash, trustedComment: comment, by: reader.signingKey),
            let again = try? MinisignSignature(Array(signature.text.utf8))
        else { return }
        precondition(again == signature && again.trustedComment == comment)
        precondition((try? again.verify(hash: hash, by: reader.signingKey.publicKey)) != nil)
    }

    private static let hash = [UInt8](repeating: 0, count: 64)
}
