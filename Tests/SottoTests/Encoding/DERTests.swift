import SwiftASN1
import TestSupport
import Testing

@testable import Sotto

struct DERTests {
    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536])
    func anElementOfAnyLengthIsRead(_ size: Int) throws {
        let content = randomBytes(size)
        let der = DER.sequence { try $0.octets(content) }
        let read = try DER.sequence(in: der) { try ASN1OctetString(derEncoded: &$0) }
        #expect(Array(read.bytes) == content)
    }

    @Test(arguments: [0, 1, 127, 128, 255, 256, 600_000, UInt64(Int.max)])
    func anIntegerIsRead(_ value: UInt64) throws {
        let der = DER.sequence { try $0.serialize(value) }
        #expect(try DER.sequence(in: der) { try UInt64(derEncoded: &$0) } == value)
    }

    @Test(arguments: [
        "", "02", "0201", "0200", "020180", "02020001", "0209010000000000000000", "028101 05",
        "0282000105",
        "0280", "0285000000000105", "03010 5", "04 01 05", "02010500", "0201050201 05",
    ])
    func aLongerFormIsRefused(_ text: String) {
        guard let bytes = bytes(hex: text.filter { $0 != " " }) else {
            preconditionFailure("not hexadecimal: \(text)")
        }
        let der = [0x30, UInt8(bytes.count)] + bytes
        #expect(throws: (any Error).self) {
            try DER.sequence(in: der) { try UInt64(derEncoded: &$0) }
        }
        // The same in the place of the rounds of PBES2.
        #expect(throws: RSAKeyError.self) {
            try PBES2(der: RSALoginTests.der(of: RSALoginTests.sealed(), rounds: bytes))
        }
    }

    @Test func bytesAfterASequenceAreRefused() {
        let der = DER.sequence { try $0.serialize(5) }
        for changed in [
            der + [0], der + der, Array(der.dropLast()), [0x30, 0x81] + der.dropFirst(),
        ] {
            #expect(throws: (any Error).self) {
                try DER.sequence(in: changed) { try UInt64(derEncoded: &$0) }
            }
        }
    }
}

struct PEMTests {
    @Test(arguments: [0, 1, 47, 48, 49, 1000])
    func aWrittenPEMIsReadBack(_ size: Int) throws {
        let bytes = randomBytes(size)
        let text = PEM.encode("A KEY", bytes)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 64 })
        for text in [text, text.replacing("\n", with: "\r\n"), "\n" + text + " \n"] {
            let read = try #require(PEM.decode(Array(text.utf8)))
            #expect(read.label == "A KEY" && read.bytes == bytes)
        }
    }

    @Test(arguments: [
        "", "-----BEGIN A-----\n", "-----BEGIN A-----\n-----END B-----\n",
        "-----BEGIN -----\n-----END -----\n", "x\n-----BEGIN A-----\nAAAA\n-----END A-----\n",
        "-----BEGIN A-----\nAAA\n-----END A-----\n", "-----BEGIN A-----\nAA AA\n-----END A-----\n",
        "-----BEGIN A-----\nAAAA\n-----END A-----\nx", "-----BEGIN A----\nAAAA\n-----END A----\n",
    ])
    func malformedPEMIsRefused(_ text: String) {
        #expect(PEM.decode(Array(text.utf8)) == nil)
    }
}
