import Foundation
import Sotto
@testable import SottoQR
@testable import SottoScan
import SottoTool
import TestSupport
import Testing

/// Tests of the built program as used in scripts.
@Suite struct ProgramTests {
    static let all = (0...255).map { UInt8($0) }

    @Test func everyByteThroughAPipe() throws {
        let made = try runQR(["--exact", "-t", "png"], input: Self.all + [0x0A])
        #expect(made.status == 0 && made.stderr.isEmpty)
        let read = try runQR(["scan"], input: made.stdout)
        #expect(read.status == 0 && read.stderr.isEmpty)
        #expect(read.stdout == Self.all + [0x0A])
    }

    @Test func lineFeeds() throws {
        for (options, input, expected) in [
            ([], "text\n", "text"), ([], "text\n\n", "text\n"), ([], "text", "text"),
            (["--exact"], "text\n", "text\n"),
            ([], "\u{1}binary\n", "\u{1}binary\n"),
        ] as [([String], String, String)] {
            let made = try runQR(options + ["-t", "png"], input: Array(input.utf8))
            #expect(try runQR(["scan", "-"], input: made.stdout).stdout == Array(expected.utf8))
        }
        // A named file and parts are read back byte for byte.
        let folder = TemporaryDirectory()
        let file = folder.write("text", Array("text\n".utf8))
        let named = try runQR(["-t", "png", file])
        #expect(try runQR(["scan"], input: named.stdout).stdout == Array("text\n".utf8))
        let piped = try runQR(
            ["--split", "2", "-o", folder("part.png")], input: Array("text\n".utf8))
        #expect(piped.status == 0, "\(piped.stderr)")
        let parts = try runQR(["scan", folder("part-1.png"), folder("part-2.png")])
        #expect(parts.stdout == Array("text\n".utf8))
        let latin: [UInt8] = [0xE9, 0x0A]
        let made = try runQR(["-t", "png"], input: latin)
        #expect(try runQR(["scan"], input: made.stdout).stdout == latin)
    }

    @Test func types() throws {
        let input = Array("text".utf8)
        #expect(try runQR(["-t", "svg"], input: input).stdout.starts(with: "<?xml".utf8))
        #expect(try runQR(["-t", "png"], input: input).stdout.starts(with: [0x89, 0x50]))
        let ascii = try runQR(["-t", "ascii", "-m", "0"], input: input).stdout
        #expect(ascii.starts(with: "##".utf8))
        let drawing = try runQR([], input: input).stdout
        #expect(!drawing.contains(0x1B))
        #expect(try runQR(["--invert"], input: input).stdout != drawing)
    }

    @Test func jsonAndSeveral() throws {
        let pieces = try ["a", "é\u{0}"].map {
            try QRCode(encoding: Array($0.utf8)).raster(size: 4, margin: 4)
        }
        let side = pieces[0].width
        let sheet = png(
            Raster(width: side, height: 2 * side, pixels: pieces[0].pixels + pieces[1].pixels))
        let refused = try runQR(["scan"], input: sheet)
        #expect(refused.status == 65 && refused.stdout.isEmpty)
        #expect(refused.stderr.contains("2 codes") && refused.stderr.contains("--all"))
        let lines = try runQR(["scan", "--all"], input: sheet)
        #expect(lines.stdout == Array("a\né\u{0}\n".utf8))
        let records = try runQR(["scan", "--all", "--json"], input: sheet)
        // For a version 1 code: 21 modules of 4 pixels, with a margin of 16.
        #expect(
            String(decoding: records.stdout, as: UTF8.self).replacing(polygon, with: "HERE") == #"""
                {"v":1,"type":"qr","data":"YQ==","text":"a","symbology":"QR Code",HERE}
                {"v":1,"type":"qr","data":"w6kA","text":"é\u0000","symbology":"QR Code",HERE}

                """#)
        let binary = try runQR(["-t", "png"], input: [0xFF])
        let record = try runQR(["scan", "--json"], input: binary.stdout)
        #expect(
            String(decoding: record.stdout, as: UTF8.self).replacing(polygon, with: "HERE")
                == #"{"v":1,"type":"qr","data":"/w==","symbology":"QR Code",HERE}"# + "\n")
    }

    /// The corners of a code in a record.
    private var polygon: Regex<Substring> { /"polygon":\[(?:\[\d+,\d+\],?){4}\]/ }

    @Test func placesInPictures() throws {
        let small = try QRCode(encoding: Array("place".utf8)).raster(size: 4, margin: 10)
        // 40 pixels of margin, then 21 modules.
        let corners = [40.0, 124]
        for raster in [small, small.inverted(), small.halved().halved()] {
            let scale = Double(small.width / raster.width)
            let symbol = try #require(try Picture(raster: raster).symbols().first)
            #expect(symbol.polygon.count == 4)
            for point in symbol.polygon {
                for value in [point.x * scale, point.y * scale] {
                    #expect(corners.contains { abs($0 - value) <= 6 }, "\(symbol.polygon)")
                }
            }
        }
        // Each variant gives positions in the original picture.
        for form in Form.allCases {
            let attempt = try #require(form.applied(to: small))
            let symbols = try Scanner().symbols(in: attempt)
            for point in symbols.flatMap(\.polygon) {
                let place = form.source(of: point, in: attempt)
                #expect(corners.contains { abs($0 - place.x) <= 6 }, "\(form)")
                #expect(corners.contains { abs($0 - place.y) <= 6 }, "\(form)")
            }
        }
    }

    /// The code has 21 modules and a margin of 4 on each side, and one line is for the prompt. A drawing that the user chose is
    /// made on each terminal.
    @Test func aTerminalThatIsTooSmallGetsNoDrawing() throws {
        let home = Home()
        home.files.write("text", Array("text".utf8))
        let command = home.command("qr", ["text"])
        let (columns, rows) = (UInt16(29), UInt16(16))
        for (width, height) in [(columns - 1, rows), (columns, rows - 1)] {
            let small = try TerminalSession(command, columns: width, rows: height).finish()
            #expect(small.status == 64)
            #expect(
                small.lines == [
                    "qr: error: the code does not fit into this terminal (\(width)x\(height), needs \(columns)x\(rows))",
                    "qr: hint: give the command -o FILE.png for a picture, or -t terminal",
                ])
            let file = try TerminalSession(
                command, stdout: home.files("out"), columns: width, rows: height
            ).finish()
            #expect(file.status == 0 && file.text.isEmpty)
            for type in ["terminal", "ascii"] {
                let chosen = home.command("qr", ["-t", type, "text"])
                let drawn = try TerminalSession(chosen, columns: width, rows: height).finish()
                #expect(drawn.status == 0 && !drawn.text.isEmpty)
            }
        }
        let fitting = try TerminalSession(command, columns: columns, rows: rows).finish()
        #expect(fitting.status == 0 && fitting.lines.count == Int(rows) - 1)
    }

    /// A terminal that does not report its size has 80 columns and 24 lines.
    @Test func aTerminalOfUnknownSizeHas80Columns() throws {
        let home = Home()
        home.files.write("short", Array("text".utf8))
        home.files.write("long", [UInt8](repeating: UInt8(ascii: "x"), count: 127))
        func draw(_ file: String) throws -> Run {
            try TerminalSession(home.command("qr", [file]), columns: 0, rows: 0).finish()
        }
        #expect(try draw("short").status == 0)
        let long = try draw("long")
        #expect(long.status == 64 && long.text.contains("(80x24, needs 57x30)"), "\(long.text)")
    }

    @Test func negativeNumbers() throws {
        for option in ["--size", "--margin"] {
            let run = try runQR(["-t", "png", option, "-1"], input: [65])
            #expect(run.status == 64 && run.stderr.contains("\(option) must be from"))
        }
    }

    @Test func endings() throws {
        let text = Array("text".utf8)
        let white = png(Raster(width: 50, height: 50, pixels: [UInt8](repeating: 255, count: 2500)))
        for (arguments, input, status) in [
            ([], [], 65), ([], [0x0A], 65),
            ([], [UInt8](repeating: 0xFF, count: 2332), 65),
            (["-l", "H"], [UInt8](repeating: 0x51, count: 1853), 65),
            ([], [UInt8](repeating: 0xFF, count: 2 << 20), 65),
            (["-l", "X"], text, 64), (["-s", "0"], text, 64), (["-s", "2"], text, 64),
            (["-m", "101"], text, 64), (["-t", "png", "--invert"], text, 64),
            (["-o", "x.jpg"], text, 64), (["-t", "png", "-s", "100", "-m", "100"], text, 64),
            (["--no-such"], text, 64), (["/no/such/file"], [], 66),
            (["-o", "/no/such/folder/x.png"], text, 73),
            (["-o", "/dev/full"], text, 74),
            (["scan"], white, 1), (["scan"], [], 65), (["scan"], text, 65),
            (["scan"], Array(white.dropLast(4)), 65), (["scan", "/no/such/file"], [], 66),
            (["scan", "/"], [], 66), (["--help"], [], 0), (["scan", "--help"], [], 0),
        ] as [([String], [UInt8], Int32)] {
            let run = try runQR(arguments, input: input)
            #expect(run.status == status, "\(arguments): \(run.stderr)")
            if status != 0 {
                #expect(run.stdout.isEmpty && run.stderr.hasPrefix("qr: error: "))
            }
        }
        #expect(try runQR(["scan"], input: white).stderr == "qr: error: no QR code found\n")
    }

    @Test func files() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("qr-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (source, picture) = (folder.path + "/in", folder.path + "/x.PNG")
        try Data(Self.all).write(to: URL(fileURLWithPath: source))
        #expect(try runQR(["-o", picture, source]).status == 0)
        #expect(try runQR(["scan", picture]).stdout == Self.all)
        let itself = try runQR(["-t", "png", "-o", source, source])
        #expect(itself.status == 64 && itself.stdout.isEmpty)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: source))) == Self.all)
        #expect(try runQR(["scan", "-o", folder.path + "/out", picture]).stdout.isEmpty)
        #expect(
            try Array(Data(contentsOf: URL(fileURLWithPath: folder.path + "/out"))) == Self.all)
        let tooLong = try runQR(
            ["-o", folder.path + "/none.png"], input: [UInt8](repeating: 0xFF, count: 3000))
        #expect(tooLong.status == 65)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/none.png"))
    }
}
