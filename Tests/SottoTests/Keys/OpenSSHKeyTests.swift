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
