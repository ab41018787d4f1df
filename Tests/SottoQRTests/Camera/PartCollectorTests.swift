import SottoQR
import SottoScan
import Testing

/// Tests of collecting the codes in a camera's pictures.
@Suite struct PartCollectorTests {
    private func symbols(_ contents: [[UInt8]]) throws -> [Symbol] {
        try contents.map { content in
            let picture = Picture(raster: try QRCode(encoding: content).raster(size: 4, margin: 4))
            return try #require(try picture.symbols(.quick).first)
        }
    }

    @Test func oneCode() throws {
        var collector = PartCollector()
        let seen = try symbols([[1], [2]])
        #expect(try collector.add([]) == .none)
        #expect(try collector.add(seen) == .several(2))
        #expect(try collector.add([seen[1]]) == .code(seen[1]))
    }

    @Test func parts() throws {
        let own = CodePart.split([1, 2, 3, 4], into: 4).map(\.code)
        let other = CodePart.split([5, 6], into: 2).map(\.code)
        var collector = PartCollector()
        #expect(try collector.add(symbols([own[3]])) == .parts([4], missing: [1, 2, 3], of: 4))
        #expect(try collector.add(symbols([own[3]])) == .none)
        #expect(try collector.add(symbols([other[0]])) == .parts([1], missing: [2], of: 2))
        #expect(try collector.add(symbols([own[0], other[1]])) == .several(2))
        #expect(try collector.add(symbols([own[0], [9]])) == .several(2))
        #expect(
            try collector.add(symbols([own[2], own[0]])) == .parts([1, 3], missing: [2], of: 4))
        #expect(try collector.add(symbols([own[1]])) == .content([1, 2, 3, 4], parts: 4))
    }

    /// A forged part causes an error, and the set can be shown again.
    @Test func partsThatDoNotFit() throws {
        let own = CodePart.split([1, 2], into: 2).map(\.code)
        var forged = own[1]
        forged[forged.count - 1] ^= 1
        var collector = PartCollector()
        _ = try collector.add(symbols([own[0]]))
        let wrong = try symbols([forged])
        #expect(throws: CodePartsError.hash) { try collector.add(wrong) }
        _ = try collector.add(symbols([own[0]]))
        #expect(try collector.add(symbols([own[1]])) == .content([1, 2], parts: 2))
    }
}
