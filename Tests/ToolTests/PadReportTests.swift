import Sotto
import TestSupport
import Testing

/// Tests that `pad --report` matches `pad`.
struct PadReportTests {
    @Test(arguments: [0, 1, 59, 60, 65531, 65532, 100_000])
    func theReportMatchesThePadding(_ count: Int) throws {
        let home = Home()
        let input = [UInt8](repeating: 7, count: count)
        let report = try home.output("pad", ["--report", "--block", "100"], stdin: input)
        let lines = String(decoding: report, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 3)
        for (line, scheme) in zip(lines, ["bucket", "pow2", "iso7816"]) {
            let record = try #require(try JSON(parsing: Array(line.utf8)).object)
            #expect(record["scheme"]?.string == scheme)
            let block = scheme == "iso7816" ? ["--block", "100"] : []
            let padded = try home.output("pad", ["--scheme", scheme] + block, stdin: input).count
            #expect(record["length"]?.integer == Int64(count))
            #expect(record["padded"]?.integer == Int64(padded))
            #expect(record["overhead"]?.integer == Int64(padded - count))
            let isPadme = scheme == "bucket" && count > 65531
            #expect(record["rule"]?.string == (isPadme ? "padme" : scheme))
            #expect(
                try home.output("pad", ["--report", "--scheme", scheme] + block, stdin: input)
                    == Array("\(line)\n".utf8))
        }
    }

    @Test func reportAndRemoveAreIncompatible() throws {
        #expect(try Home().run("pad", ["--report", "--remove"], text: "x").status == 64)
    }
}
