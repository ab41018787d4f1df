import Sotto

/// A key in a form that these programs do not read.
enum ForeignKey: Sendable, Equatable {
    /// A private key in PEM with this label, such as `RSA PRIVATE KEY` or, for PKCS #8, `PRIVATE KEY`.
    case pem(label: String)
    /// A private key of PuTTY.
    case putty
    /// A public key in PEM or in the form of RFC 4716.
    case publicKey

    /// Recognizes a key by the first line of its text.
    init?(_ text: some Collection<UInt8>) {
        let line = text.drop { $0 <= 0x20 }.prefix { $0 >= 0x20 }.prefix(100)
        let start = String(decoding: line, as: UTF8.self)
        if start.hasPrefix("PuTTY-User-Key-File-") {
            self = .putty
        } else if start.hasPrefix("---- BEGIN SSH2 PUBLIC KEY") {
            self = .publicKey
        } else if start.hasPrefix("-----BEGIN ") {
            let label = String(start.dropFirst(11).prefix { $0 != "-" })
            self = label.hasSuffix("PUBLIC KEY") ? .publicKey : .pem(label: label)
        } else {
            return nil
        }
    }

    /// The failure for a key where the identity at `path` is needed.
    func isNoIdentity(_ path: String) -> Failure {
        switch self {
        case .pem(let label):
            Failure(
                .malformed,
                "\(path) is a PEM file of the type \(Terminal.escapingControls(label)), not an OpenSSH key",
                hint: "create one: ssh-keygen -t ed25519")
        case .putty:
            Failure(
                .malformed, "\(path) is a key of PuTTY, not of OpenSSH",
                hint:
                    "convert an Ed25519 key: puttygen \(shellWord(path)) -O private-openssh-new -o NEWFILE"
            )
        case .publicKey:
            Failure(
                .malformed, "\(path) is a public key, but an identity is needed here",
                hint: "use the file with the private key")
        }
    }

    /// The failure for a key where a recipient is needed.
    var isNoRecipient: Failure {
        switch self {
        case .pem, .putty:
            Failure(
                .malformed, "this is a private key, but a recipient is needed here",
                hint: "use the public key, a line ssh-ed25519 AAAA…")
        case .publicKey:
            Failure(
                .malformed, "the public key is not in OpenSSH's format",
                hint: "convert an Ed25519 key: ssh-keygen -i -f FILE")
        }
    }
}

/// A recipient of a type that is not supported.
public enum UnsupportedRecipient: Error, Sendable, Equatable {
    /// An SSH key of this type.
    case ssh(String)
    /// A recipient of the age plugin with this name.
    case plugin(String)

    /// Recognizes an SSH key by its first word, which its data repeats, and a plugin's recipient by its prefix.
    init?(_ text: String) {
        if let type = SSHKeyLine.type(of: text), type != OpenSSHPublicKey.type {
            self = .ssh(String(type))
        } else if let (prefix, _) = Bech32.decode(text), prefix.hasPrefix("age1"),
            prefix != "age1pq"
        {
            self = .plugin(String(prefix.dropFirst(4)))
        } else {
            return nil
        }
    }

    /// The type for messages, with its article.
    public var description: String {
        switch self {
        case .ssh(let type): "an SSH key of the type \(Terminal.escapingControls(type))"
        case .plugin(let name): "a recipient of the age plugin \(Terminal.escapingControls(name))"
        }
    }

    var failure: Failure {
        switch self {
        case .ssh(let type):
            Failure(
                .malformed,
                "the SSH key has the type \(Terminal.escapingControls(type)), but only ssh-ed25519 is supported",
                hint: "create one: ssh-keygen -t ed25519")
        case .plugin(let name):
            Failure(
                .malformed,
                "the recipient belongs to the age plugin \(Terminal.escapingControls(name)), and plugins are not supported",
                hint: "use a card, an age1… recipient without a plugin or an ssh-ed25519 key")
        }
    }
}

/// The line of an SSH public key: its type, its data in base64, and a comment.
enum SSHKeyLine {
    private static let families = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]

    /// Returns the first word of a line if it is the type of an SSH key, and data follows.
    static func type(of line: String) -> Substring? {
        let words = line.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count > 1, families.contains(where: words[0].hasPrefix) else { return nil }
        // The data begins with the length of the type, less than 2¹⁸.
        return words[1].hasPrefix("AAAA") || words[0] == OpenSSHPublicKey.type ? words[0] : nil
    }

    /// Returns whether the data of a line repeats its type, so that the line is whole.
    static func isWhole(_ line: String) -> Bool {
        let words = line.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count > 1, let data = Base64.standard.decode(words[1]) else { return false }
        let type = Array(words[0].utf8)
        return data.starts(with: UInt32(type.count).bigEndianBytes + type)
    }
}

/// Secret keys where something public is expected.
enum GivenSecret {
    /// Returns whether a text is, or could be, a secret: a secret key, an identity, or recovery words. It is then not
    /// printed in a message.
    static func isSecret(_ text: String) -> Bool {
        let text = Pasted.text(text)
        let upper = text.prefix(64).uppercased()
        return upper.hasPrefix("AGE-SECRET-KEY-") || upper.hasPrefix("AGE-PLUGIN-")
            || upper.hasPrefix("PUTTY-USER-KEY-FILE") || upper.hasPrefix("-----BEGIN ")
            || upper.hasPrefix("{")
            || SSHKeyLine.type(of: text) == nil
                && text.split(whereSeparator: \.isWhitespace).count >= 12
    }

    /// The failure for a secret where a recipient is needed.
    static var isNoRecipient: Failure {
        Failure(
            .usage,
            "a secret is given where a recipient is needed, or a text that could be one; it is not shown here",
            hint: "give the public key: a card, an age1… recipient or an ssh-ed25519 key")
    }

    /// The failure for a secret where the name of a file is needed.
    static var isNoFile: Failure {
        Failure(
            .usage,
            "a secret is given where the name of its file is needed, or a text that could be one; it is not shown here",
            hint: "write the key to a file that only you can read, and give its name")
    }
}
