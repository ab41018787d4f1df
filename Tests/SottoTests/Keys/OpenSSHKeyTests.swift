import TestSupport
import Testing

@testable import Sotto

struct OpenSSHKeyTests {
    /// The seed of RFC 8032 §7.1, test 1.
    static let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    static let publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

    func key() throws -> SigningKey {
        SigningKey(seed: SecretBytes(copying: try #require(bytes(hex: Self.seed))))
    }

    func plain(_ pem: [UInt8]) throws -> SigningKey {
        guard case .plain(let key) = try OpenSSHKey.read(pem: pem) else {
            throw OpenSSHKeyError.wrongPassphrase
        }
        return key
    }

    func file(_ key: SigningKey, comment: String = "a") -> [UInt8] {
        OpenSSHKey.pem(key, comment: comment, check: 7).withBytes { Array($0) }
    }

    @Test func thePublicLineIsTheTypeAndTheWireForm() throws {
        let line = OpenSSHPublicKey(publicKey: try #require(bytes(hex: Self.publicKey)))
        let words = line.text.split(separator: " ")
        #expect(words[0] == "ssh-ed25519")
        #expect(
            Base64.standard.decode(words[1]).map { hex($0) }
                == "0000000b7373682d6564323535313900000020" + Self.publicKey)
        #expect(OpenSSHPublicKey(line: line.text + " a comment") == line)
        #expect(OpenSSHPublicKey(line: "ssh-rsa " + words[1]) == nil)
        #expect(OpenSSHPublicKey(line: "ssh-ed25519 " + words[1].dropLast(4)) == nil)
    }

    @Test(arguments: ["", "a", "seven by", "user@host"])
    func aPrivateKeyRoundTrips(_ comment: String) throws {
        let pem = file(try key(), comment: comment)
        #expect(OpenSSHKey.isOpenSSH(pem))
        #expect(try plain(pem).publicKey == key().publicKey)
    }

    /// As in OpenSSH, the lines of the base64 and what follows them do not matter.
    @Test func theLayoutOfAPrivateKeyDoesNotMatter() throws {
        let text = String(decoding: file(try key()), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        let (head, body, end) = (lines[0], lines.dropFirst().dropLast().joined(), lines.last!)
        func wrapped(_ width: Int, _ feed: String = "\n") -> String {
            var (rest, result) = (body[...], [head])
            while !rest.isEmpty {
                result.append(String(rest.prefix(width)))
                rest = rest.dropFirst(width)
            }
            return (result + [end, ""]).joined(separator: feed)
        }
        var layouts = [1, 63, 70, 76, 77, 128, 10_000].map { wrapped($0) }
        layouts += [
            wrapped(70, "\r\n"), wrapped(70, " \n"), wrapped(70, "\n\n"), wrapped(64, "\n\t"),
            String(text.dropLast()), "\n \n" + text, head + body + end,
            text + "ssh-ed25519 AAAA a comment\n", text + text,
        ]
        for layout in layouts {
            #expect(try plain(Array(layout.utf8)).publicKey == key().publicKey, "\(layout)")
        }
        let latin1 = Array(text.utf8) + [0x4D, 0xFC, 0x0A]
        #expect(try plain(latin1).publicKey == key().publicKey)
        for broken in [
            text.replacing(end, with: ""), text.replacing(head, with: ""),
            text.replacing(body.prefix(4), with: "===="), "x" + text,
            text.replacing(end, with: "-----END RSA PRIVATE KEY-----"),
        ] {
            #expect(throws: OpenSSHKeyError.form) {
                try OpenSSHKey.read(pem: Array(broken.utf8))
            }
        }
    }

    /// The padding may have any length; its bytes count from 1.
    @Test func thePaddingHasAnyLength() throws {
        for extra in [0, 8, 56, 248, 256, 504] {
            for isDamaged in [false, true] {
                var decoded = try #require(PEM.decode(file(try key()))).bytes
                // The length of the private section is the only one that changes.
                let start = decoded.count - 136
                #expect(decoded[(start - 4)..<start] == UInt32(136).bigEndianBytes[...])
                // The file ends in the padding 1, 2, 3, 4.
                var pad = UInt8(4)
                for _ in 0..<extra {
                    pad &+= 1
                    decoded.append(pad)
                }
                decoded.replaceSubrange(
                    (start - 4)..<start, with: UInt32(136 + extra).bigEndianBytes)
                if isDamaged { decoded[decoded.count - 1] ^= 1 }
                let pem = Array(PEM.encode("OPENSSH PRIVATE KEY", decoded).utf8)
                if isDamaged, extra > 0 {
                    #expect(throws: OpenSSHKeyError.form) { try OpenSSHKey.read(pem: pem) }
                } else if !isDamaged {
                    #expect(try plain(pem).publicKey == key().publicKey, "\(extra)")
                }
            }
        }
    }

    @Test func everyByteOfAPrivateKeyButTheCheckAndTheCommentMatters() throws {
        let decoded = try #require(PEM.decode(file(try key())))
        for index in decoded.bytes.indices {
            var changed = decoded.bytes
            changed[index] ^= 1
            let pem = Array(PEM.encode(decoded.label, changed).utf8)
            let read = try? OpenSSHKey.read(pem: pem)
            // The comment "a" is the only part whose change may be accepted.
            let isComment = decoded.bytes[index] == UInt8(ascii: "a") && read != nil
            #expect(read == nil || isComment, "byte \(index)")
        }
        for count in 0..<decoded.bytes.count {
            let pem = Array(PEM.encode(decoded.label, Array(decoded.bytes.prefix(count))).utf8)
            #expect(throws: OpenSSHKeyError.self) { try OpenSSHKey.read(pem: pem) }
        }
    }
}
