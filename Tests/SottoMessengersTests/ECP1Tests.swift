import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

/// Tests/Vectors/ecp1.json.
struct ECP1Tests {
    struct Vectors: Decodable {
        let pbkdf2: [Derived]
        let files: [Known]
        let mustFail: [MustFail]
    }
    struct Derived: Decodable, Sendable {
        let password: String
        let salt: Hex
        let iterations: Int
        let hash: String
        let output: Hex
    }
    struct Known: Decodable, Sendable {
        let password: String
        let salt: Hex
        let nonce: Hex
        let key: Hex
        let plaintext: Hex
        let file: Hex
        let fileLength: Int
    }
    struct MustFail: Decodable, Sendable, CustomTestStringConvertible {
        let why: String
        let file: Hex
        let password: String
        var testDescription: String { why }
    }

    static let vectors = TestSupport.Vectors.load("ecp1", as: Vectors.self)

    @Test(arguments: vectors.pbkdf2)
    func pbkdf2GivesTheKnownBytes(_ known: Derived) {
        if known.hash == "sha512" {
            let output = pbkdf2SHA512(
                password: Array(known.password.utf8), salt: known.salt.bytes,
                rounds: known.iterations)
            #expect(output.withBytes { Array($0) } == known.output.bytes)
            return
        }
        #expect(known.hash == "sha256")
        let output = pbkdf2SHA256(
            password: SecretBytes(copying: known.password.utf8), salt: known.salt.bytes,
            rounds: known.iterations)
        #expect(output.withBytes { Array($0) } == known.output.bytes)
    }

    @Test(arguments: vectors.files)
    func theKnownFileIsWrittenAndRead(_ known: Known) throws {
        let written = try ECP1File(
            sealing: SecretBytes(copying: known.plaintext.bytes),
            password: SecretBytes(copying: known.password.utf8), salt: known.salt.bytes,
            nonce: known.nonce.bytes)
        #expect(written.bytes == known.file.bytes && known.file.bytes.count == known.fileLength)
        let secret = try ECP1File(known.file.bytes).open(
            password: SecretBytes(copying: known.password.utf8))
        #expect(secret.withBytes { Array($0) } == known.plaintext.bytes)
    }

    @Test(arguments: vectors.mustFail)
    func invalidVectorsAreRefused(_ bad: MustFail) {
        do throws(ECP1Error) {
            let file = try ECP1File(bad.file.bytes)
            _ = try file.open(password: SecretBytes(copying: bad.password.utf8))
            Issue.record("opened")
        } catch {
            switch bad.why {
            case "magic ECP2": #expect(error == .version)
            case let why where why.hasPrefix("47 bytes"): #expect(error == .form)
            default: #expect(error == .authentication)
            }
        }
    }

    @Test func r11OnlyVersion1IsReadAndHasNoParameters() {
        let file = Self.vectors.files[0].file.bytes
        for digit in UInt8.min...UInt8.max {
            var changed = file
            changed[3] = digit
            switch digit {
            case UInt8(ascii: "1"): #expect(throws: Never.self) { try ECP1File(changed) }
            case 0x30...0x39: #expect(throws: ECP1Error.version) { try ECP1File(changed) }
            default: #expect(throws: ECP1Error.form) { try ECP1File(changed) }
            }
        }
        for count in 0..<48 {
            #expect(throws: ECP1Error.form) { try ECP1File(Array(file[..<count])) }
        }
        #expect(throws: Never.self) { try ECP1File(Array(file[..<48])) }
        let limit = ECP1File.limit
        let long = file + [UInt8](repeating: 0, count: limit)
        #expect(throws: ECP1Error.tooLong(limit: limit)) { try ECP1File(long) }
        #expect(throws: ECP1Error.tooLong(limit: limit)) {
            try ECP1File(
                sealing: SecretBytes(copying: long), password: SecretBytes(copying: []))
        }
    }

    @Test func r11OnlyItsPasswordOpensANewFile() throws {
        let secret = randomBytes(32)
        let file = try ECP1File(
            sealing: SecretBytes(copying: secret), password: SecretBytes(copying: "päss".utf8))
        #expect(file.bytes.count == 80)
        let opened = try file.open(password: SecretBytes(copying: "päss".utf8))
        #expect(opened.withBytes { Array($0) } == secret)
        // The password is used as typed: the decomposed form is another password.
        #expect(throws: ECP1Error.authentication) {
            _ = try file.open(password: SecretBytes(copying: "pa\u{308}ss".utf8))
        }
    }
}
