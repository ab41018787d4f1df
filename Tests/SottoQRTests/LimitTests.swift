import Foundation
import Glibc
@testable import SottoQR
@testable import SottoScan
import TestSupport
import Testing

/// Pictures made to consume time or memory.
@Suite struct LimitTests {
    /// A finder pattern with a side of 7 pixels in each square of 8: 250,000 in 4000 × 4000 pixels.
    static func tiles(_ side: Int) -> Raster {
        Raster(width: side, height: side) { x, y in
            let (column, row) = (x % 8, y % 8)
            guard column < 7, row < 7 else { return 255 }
            let ring = min(column, row, 6 - column, 6 - row)
            return ring == 1 ? 255 : 0
        }
    }

    @Test func aPictureFullOfFinderPatternsIsSearchedWithinTheLimits() throws {
        let picture = png(Self.tiles(4000))
        #expect(picture.count < 100_000)
        let run = try runQR(["scan"], input: picture)
        #expect(run.status == 1, "\(run.stderr)")
    }

    @Test func onlySuchAPictureIsCrowded() throws {
        #expect(Bitmap(of: Self.tiles(2000), radius: 13).isCrowded)
        // The largest code and noise have far fewer.
        let code = try QRCode(encoding: [UInt8](repeating: 0x55, count: 2900), level: .low)
        #expect(!Bitmap(of: code.raster(size: 10, margin: 4), radius: 13).isCrowded)
        try withGenerator { generator in
            let noise = generator.bytes(2000 * 2000)
            let raster = Raster(width: 2000, height: 2000, pixels: noise)
            let isCrowded = Bitmap(of: raster, radius: 13).isCrowded
            #expect(!isCrowded, generator.comment)
        }
    }

    /// 64 white megapixels in a file of some kilobytes: each search takes a second or more.
    static let white = png(Raster(width: 8192, height: 8192) { _, _ in 255 })

    @Test func theTimeLimitIsNamed() throws {
        let files = TemporaryDirectory()
        let path = files.write("white.png", Self.white)
        let many = [String](repeating: path, count: 20)
        let run = try runQR(["scan", "--time-limit", "1"] + many)
        #expect(run.status == 65 && run.stdout.isEmpty)
        #expect(run.stderr.contains("1 second of processor time"), "\(run.stderr)")
        #expect(run.stderr.contains("--time-limit 10"), "\(run.stderr)")
    }

    @Test func theMemoryLimitIsNamed() throws {
        let run = try runQR(["scan", "--memory-limit", "100"], input: Self.white)
        #expect(run.status == 65 && run.stdout.isEmpty)
        #expect(
            run.stderr.contains("memory") && run.stderr.contains("--memory-limit"),
            "\(run.stderr)")
        #expect(try runQR(["scan"], input: Self.white).status == 1)
    }

    @Test func limitsHaveARange() throws {
        for options in [["--time-limit", "0"], ["--memory-limit", "10"], ["--time-limit", "x"]] {
            #expect(try runQR(["scan"] + options).status == 64)
        }
    }

    @Test func aSignalToTheProgramEndsTheSearchToo() throws {
        let files = TemporaryDirectory()
        files.write("tiles.png", png(Self.tiles(4000)))
        let search = try Pipeline([
            Command(
                path: Programs.path("qr"),
                ["scan", "--time-limit", "600", files("tiles.png"), "-"],
                environment: ["SWIFT_BACKTRACE": "enable=no"])
        ])
        search.signal(SIGTERM)
        // Its output ends after the child process has ended.
        let run = try search.finish()[0]
        #expect(run.wasKilled == SIGTERM && run.stdout.isEmpty)
    }

    @Test func candidateSearchMatchesALinearSearch() throws {
        try withGenerator { generator in
            var candidates = FinderCandidates()
            for _ in 0..<300 {
                let across = Double.random(in: 7...200, using: &generator)
                candidates.add(
                    FinderCandidate(
                        x: .random(in: 0...500, using: &generator),
                        y: .random(in: 0...500, using: &generator), across: across,
                        down: across * .random(in: 0.5...2, using: &generator), rows: 1,
                        core: .random(in: 0...1, using: &generator)))
            }
            for _ in 0..<3000 {
                let x = Int.random(in: 0...500, using: &generator)
                let y = Int.random(in: 0...500, using: &generator)
                let core = UInt8.random(in: 0...1, using: &generator)
                let expected = candidates.all.firstIndex {
                    $0.core == core && abs($0.x - Double(x)) < $0.across * 0.2
                        && abs($0.y - Double(y)) < $0.down * 0.3
                }
                #expect(candidates.place(x: x, y: y, core: core) == expected, generator.comment)
            }
        }
    }
}
