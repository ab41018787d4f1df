import TestSupport
import Testing

@testable import Sotto

struct DERTests {
    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536])
    func anElementOfAnyLengthIsRead(_ size: Int) {
        let content = randomBytes(size)
        var reader = DERReader(DER.element(.octetString, content)[...])
        #expect(reader.content(.octetString).map { Array($0) } == content)
        #expect(reader.isAtEnd)
    }

    @Test(arguments: [0, 1, 127, 128, 255, 256, 600_000, UInt64(Int.max)])
    func anIntegerIsRead(_ value: UInt64) {
        var reader = DERReader(DER.integer(value)[...])
        #expect(reader.integer() == Int(value) && reader.isAtEnd)
    }

    @Test(arguments: [
        "", "02", "0201", "0200", "020180", "02020001", "0209010000000000000000", "028101 05",
        "0282000105",
        "0280", "0285000000000105", "03010 5", "04 01 05",
    ])
    func aLongerFormIsRefused(_ text: String) {
        guard let bytes = bytes(hex: text.filter { $0 != " " }) else {
            preconditionFailure("not hexadecimal: \(text)")
        }
        var reader = DERReader(bytes[...])
        #expect(reader.integer() == nil)
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
