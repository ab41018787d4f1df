import Foundation
import Sotto
@testable import SottoQR
@testable import SottoScan
import TestSupport
import Testing

/// Tests of `qr scan --camera` with a camera simulated by fake_camera.c.
@Suite struct CameraTests {
    /// The library that simulates the camera.
    private static let library = Result {
        try Compiler.library(
            folder("fake_camera.so"),
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("fake_camera.c").path)
    }
    private static let folder = TemporaryDirectory()

    /// Runs `qr scan --camera` on frames of 400 × 300 pixels.
    private func scan(
        _ arguments: [String] = [], format: String, frames: [[UInt8]], busy: Bool = false
    ) throws -> Run {
        let folder = TemporaryDirectory()
        for (place, frame) in frames.enumerated() { folder.write("frame-\(place)", frame) }
        return try Command(
            path: Programs.path("qr"),
            ["scan", "--camera", "/dev/fake-camera"] + arguments,
            environment: [
                "LD_PRELOAD": try Self.library.get(), "FAKE_CAMERA": folder.path,
                "FAKE_SIZE": "400x300", "FAKE_FORMAT": format,
            ].merging(busy ? ["FAKE_BUSY": "1"] : [:]) { $1 }
        ).run()
    }

    /// Returns a picture of a code on a table.
    private func frame(_ bytes: [UInt8], left: Int = 100) throws -> Raster {
        let code = try QRCode(encoding: bytes).raster(size: 4, margin: 4)
        return Raster(width: 400, height: 300) { x, y in
            let (x, y) = (x - left, y - 20)
            return 0..<code.width ~= x && 0..<code.height ~= y
                ? code.pixels[y * code.width + x] : 140
        }
    }

    private let table = Raster(width: 400, height: 300) { x, _ in UInt8(100 + x / 10) }

    @Test(.needs(.compiler), arguments: ["GREY", "YUYV", "MJPG"])
    func theFirstCode(format: String) throws {
        let bytes: [UInt8] = Array("seen".utf8) + [0, 0xFF]
        let frames = try [table, table, frame(bytes), frame([1])].map { raster -> [UInt8] in
            switch format {
            case "YUYV": return raster.pixels.flatMap { [$0, 128] }
            case "MJPG": return jpeg(raster)
            default: return raster.pixels
            }
        }
        let run = try scan(format: format, frames: frames)
        #expect(run.status == 0 && run.stdout == bytes, "\(run.stderr)")
    }

    /// A frame that was damaged in transfer does not end the scan and is not reported.
    @Test(.needs(.compiler)) func damagedFrames() throws {
        let good = jpeg(try frame([7]))
        let run = try scan(
            format: "MJPG",
            frames: [[0xFF, 0xD8, 0xFF, 0xE0, 1], Array(good.prefix(good.count / 2)), good])
        #expect(run.status == 0 && run.stdout == [7])
        #expect(run.stderr.split(separator: "\n").count == 1, "\(run.stderr)")
    }

    @Test(.needs(.compiler)) func partsUntilAllAreSeen() throws {
        let parts = CodePart.split(Array(0..<90), into: 3)
        let frames = try [2, 0, 2, 1].map { try frame(parts[$0].code).pixels }
        let run = try scan(["--json"], format: "GREY", frames: frames)
        #expect(run.status == 0, "\(run.stderr)")
        let record = try JSON(parsing: run.stdout).object
        #expect(record?["data"]?.string == Base64.standard.encode(Array(0..<90)))
        #expect(record?["parts"] == .integer(3))
        #expect(run.stderr.contains("part 3 of 3 was read; 1, 2 missing"))
        #expect(run.stderr.contains("part 1 of 3 was read; 2 missing"))
        // The frame that repeated a part is not reported.
        #expect(run.stderr.split(separator: "\n").count == 3, "\(run.stderr)")
    }

    /// With --all: each content once, until the camera stops, which is reported.
    @Test(.needs(.compiler)) func eachCode() throws {
        let frames = try ["one", "two", "one"].map { try frame(Array($0.utf8)).pixels }
        let run = try scan(["--all"], format: "GREY", frames: frames)
        #expect(run.status == 74 && run.stdout == Array("one\ntwo\n".utf8))
        #expect(run.stderr.contains("stopped delivering pictures"))
    }

    @Test(.needs(.compiler)) func nothingToRead() throws {
        let busy = try scan(format: "GREY", frames: [table.pixels], busy: true)
        #expect(busy.status == 75 && busy.stderr.contains("another program"), "\(busy.stderr)")
        let strange = try scan(format: "H264", frames: [table.pixels])
        #expect(strange.status == 74 && strange.stderr.contains("hint: "), "\(strange.stderr)")
        #expect(busy.stdout.isEmpty && strange.stdout.isEmpty)
    }

    @Test func noCamera() throws {
        let folder = TemporaryDirectory()
        let file = folder.write("file", [1])
        for (device, text) in [
            ("/dev/no-such", "no such file"), ("/dev/null", "is not a camera"),
            (file, "is not a camera"), ("/", "is not a camera"),
            (file + "/x", "not a directory"),
        ] {
            let run = try runQR(["scan", "--camera", device])
            #expect(run.status == 66 && run.stdout.isEmpty)
            #expect(run.stderr.contains(text), "\(run.stderr)")
        }
    }

    @Test(.enabled(if: getuid() != 0, "root may open every file"))
    func aCameraOfOthers() throws {
        let locked = TemporaryDirectory().write("locked", [1], mode: 0)
        #expect(try runQR(["scan", "--camera", locked]).status == 77)
    }

    @Test func incompatibleOptions() throws {
        for arguments in [["x.png"], ["--all", "-o", "x"], ["-"]] {
            let run = try runQR(["scan", "--camera", "/dev/null"] + arguments)
            #expect(run.status == 64 && run.stderr.contains("hint: "), "\(run.stderr)")
        }
    }
}
