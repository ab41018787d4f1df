import Sotto

extension FuzzTarget {
    /// An SSH Ed25519 key. The bytes are read as a private key's text, as the content of its base64, and as a public
    /// key's line.
    static let sshKey = FuzzTarget("ssh-key") { bytes in
        readPrivate(bytes)
        var lines = ["-----BEGIN OPENSSH PRIVATE KEY-----"]
        var text = Base64.standard.encode(bytes)[...]
        while !text.isEmpty {
            lines.append(String(text.prefix(70)))
            text = text.dropFirst(70)
        }
        lines += ["-----END OPENSSH PRIVATE KEY-----", ""]
        readPrivate(Array(lines.joined(separator: "\n").utf8))
        readPublic(String(decoding: bytes, as: UTF8.self))
        readPublic("ssh-ed25519 " + Base64.standard.encode(bytes))
    }

    private static func readPrivate(_ text: [UInt8]) {
        _ = OpenSSHKey.isOpenSSH(text)
        guard let file = try? OpenSSHKey.read(pem: text) else { return }
        let key: SigningKey
        switch file {
        case .plain(let plain): key = plain
        case .protected(let protected):
            _ = try? protected.open(Passphrase(SecretBytes(copying: []))) { _, _, _, count in
                SecretBytes(copying: [UInt8](repeating: 0, count: count))
            }
            return
        }
        let again = OpenSSHKey.pem(key, comment: "fuzz").withBytes { Array($0) }
        guard case .plain(let same)? = try? OpenSSHKey.read(pem: again) else {
            preconditionFailure("cannot read a key that was written")
        }
        precondition(same.publicKey == key.publicKey)
        let recipient = AgeSSHIdentity(key).recipient
        precondition(AgeRecipient(recipient.text) == .ssh(recipient))
    }

    private static func readPublic(_ line: String) {
        guard let key = OpenSSHPublicKey(line: line) else { return }
        precondition(OpenSSHPublicKey(line: key.text) == key)
        if let recipient = AgeRecipient(line) {
            precondition(AgeRecipient(recipient.text) == recipient)
        }
    }
}
