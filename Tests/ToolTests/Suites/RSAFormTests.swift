import Sotto
import TestSupport
import Testing

/// Tests of RSA keys written by openssl, for all options that read a key file.
struct RSAFormTests {
    struct Forms: Decodable {
        let pkcs1Pem: String
        let pkcs1Der: Hex
        let pkcs8Pem: String
        let pkcs8Der: Hex
        let encryptedDer: Hex
        let password: String
    }
    static let forms = Vectors.load("rsa_forms", as: Forms.self)
    let home: Home
    init() throws {
        home = try Home(people: "alice")
        home.files.write("p1.pem", Self.forms.pkcs1Pem.utf8)
        home.files.write("p1.der", Self.forms.pkcs1Der.bytes)
        home.files.write("p8.pem", Self.forms.pkcs8Pem.utf8)
        home.files.write("p8.der", Self.forms.pkcs8Der.bytes)
        home.files.write("sealed.der", Self.forms.encryptedDer.bytes)
        home.files.write("password", Array((Self.forms.password + "\n").utf8))
    }

    @Test func importTakesEachForm() throws {
        let original = try home.files.read("alice.key")
        func imported(_ file: String, _ more: [String] = []) throws -> [UInt8] {
            home.files.write("a.key", original, mode: 0o600)
            _ = try home.output("bridge", ["import", "rsa", file, "-q", "-i", "a.key"] + more)
            return try home.files.read("a.key")
        }
        let first = try imported("p8.pem")
        #expect(first != original)
        for file in ["p1.pem", "p1.der", "p8.der"] {
            #expect(try imported(file) == first, "\(file)")
        }
        #expect(try imported("sealed.der", ["--password", "@FILE:password"]) == first)
    }

    @Test func loginKeyTakesEachForm() throws {
        func publicHalf(_ file: String, _ more: [String] = []) throws -> [UInt8] {
            try home.output("bridge", ["login-key", "--public", file] + more)
        }
        let first = try publicHalf("p8.pem")
        for file in ["p1.pem", "p1.der", "p8.der"] {
            #expect(try publicHalf(file) == first, "\(file)")
        }
        #expect(try publicHalf("sealed.der", ["--password", "@FILE:password"]) == first)
    }
}
