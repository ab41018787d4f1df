import CQREncode
import FuzzParsers
import Foundation
import Glibc
import Sotto
import SottoMedia
@testable import SottoQR
@testable import SottoScan
import TestSupport
import Testing

/// Tests of the restricted process in which `qr` reads pictures.
@Suite struct ScanProcessTests {
    private static let folderOfPrograms = Programs.directory
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources").path

    // MARK: The restriction

    /// The kernel's own report about the built program while it waits for a request.
    @Test(arguments: [["pictures", "30", "1024"], ["media", "30", "1024"]])
    func theProcessIsRestricted(arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.folderOfPrograms + "/qr-scan")
        process.arguments = arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        defer {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
        // It answers only after it is restricted.
        let isMedia = arguments[0] == "media"
        input.fileHandleForWriting.write(
            Data(
                isMedia
                    ? MediaRequest(.type, length: 0).line
                    : ScanRequest.picture(length: 0, search: .usual).line))
        let answer = output.fileHandleForReading.availableData
        #expect(
            Array(answer)
                == (isMedia ? MediaFacts().line : ScanReply.fault(.picture(.empty)).line))
        let status = try String(
            contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        // 2 is a filter of system calls.
        #expect(status.contains("\nSeccomp:\t2\n"), "\(status)")
        #expect(status.contains("\nNoNewPrivs:\t1\n"))
        let open = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(process.processIdentifier)/fd")
        #expect(Set(open) == ["0", "1", "2"])
        let limits = try String(
            contentsOfFile: "/proc/\(process.processIdentifier)/limits", encoding: .utf8)
        let lines = limits.split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        #expect(lines.contains { $0.starts(with: ["Max", "cpu", "time", "30", "35"]) })
        #expect(lines.contains { $0.starts(with: ["Max", "address", "space", "1073741824"]) })
        #expect(lines.contains { $0.starts(with: ["Max", "core", "file", "size", "0", "0"]) })
    }

    /// A program with the same restriction, which then tries one thing.
    private static let attempts = Result {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        return try Compiler.build(
            folder("attempts"),
            [
                "-I", sources + "/CSottoSandbox/include", here + "/attempts.c",
                sources + "/CSottoSandbox/sandbox.c", "-lseccomp",
            ])
    }
    private static let folder = TemporaryDirectory()

    @Test(
        .needs(.compiler),
        arguments: [
            ("memory", 0), ("write", 0), ("open", EACCES), ("create", EACCES),
            ("abort", 128 + SIGABRT), ("socket", 128 + SIGSYS), ("fork", 128 + SIGSYS),
            ("exec", 128 + SIGSYS), ("unlink", 128 + SIGSYS), ("kill", 128 + SIGSYS),
            ("ptrace", 128 + SIGSYS), ("ioctl", 128 + SIGSYS), ("read-other", 128 + SIGSYS),
            ("write-other", 128 + SIGSYS), ("code", 128 + SIGSYS), ("map-file", 128 + SIGSYS),
        ] as [(String, Int32)])
    func onlyWhatIsNeededIsPossible(attempt: String, status: Int32) throws {
        let run = try Command(path: try Self.attempts.get(), [attempt]).run()
        #expect(run.status == status, "\(attempt)")
    }

    // MARK: Codes that need more of the system

    /// The converters of all character sets are loaded before the restriction.
    @Test func characterSetsAreConverted() throws {
        for (set, bytes, expected) in [
            (3, [0x67, 0xFC], Array("gü".utf8)), (9, [0xE1, 0xE2], Array("αβ".utf8)),
            (17, [0xA4], Array("€".utf8)), (20, [0x82, 0xA0], Array("あ".utf8)),
            (26, Array("ü".utf8), Array("ü".utf8)), (2, [0x81], Array("ü".utf8)),
        ] as [(UInt32, [UInt8], [UInt8])] {
            let input = try #require(QRinput_new2(0, QR_ECLEVEL_M))
            defer { QRinput_free(input) }
            #expect(QRinput_appendECIheader(input, set) == 0)
            #expect(QRinput_append(input, QR_MODE_8, Int32(bytes.count), bytes) == 0)
            let run = try runQR(["scan"], input: try picture(of: input))
            #expect(run.status == 0 && run.stdout == expected, "\(set): \(run.stderr)")
        }
    }

    private func picture(of input: OpaquePointer) throws -> [UInt8] {
        let code = try #require(QRcode_encodeInput(input))
        defer { QRcode_free(code) }
        let side = Int(code.pointee.width)
        let modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side)
        return png(
            QRCode(side: side, modules: modules.map { $0 & 1 == 1 }).raster(size: 5, margin: 4))
    }

    /// Images with several codes, also of structured appends with gaps, for which zbar 0.23.92 can write past a buffer.
    /// The process may crash, but `qr` reports it.
    @Test func structuredAppend() throws {
        let corpus = URL(fileURLWithPath: Self.sources).deletingLastPathComponent()
            .appendingPathComponent("Fuzz/corpus/code-text")
        for name in try FileManager.default.contentsOfDirectory(atPath: corpus.path).sorted() {
            let bytes = Array(try Data(contentsOf: corpus.appendingPathComponent(name)))
            let image = FuzzTarget.image(ofCodes: bytes)
            for arguments in [["scan"], ["scan", "--all"]] {
                let run = try runQR(arguments, input: image)
                #expect([0, 1, 15, 65].contains(run.status), "\(name): \(run.stderr)")
                #expect(run.status == 0 || run.stderr.hasPrefix("qr: error: "), "\(name)")
                // Both parts of a complete set, which are two contents.
                if name == "append" {
                    #expect(run.status == (arguments == ["scan"] ? 65 : 0), "\(run.stderr)")
                }
            }
        }
    }

    // MARK: A process that does not answer

    /// Runs `qr` from a directory in which a shell is its `qr-scan`; without `script` it has none. The shell runs `script`, because
    /// the first argument of `qr-scan` is the name of a file with it.
    ///
    /// Links instead of new executable files: while a file is open for writing in any process, also in a new child of
    /// another test, it cannot be executed.
    private func qr(_ arguments: [String], script: String?) throws -> Run {
        let directory = URL(fileURLWithPath: Self.folderOfPrograms)
            .appendingPathComponent("qr-scan-tests-\(UUID().uuidString)").path
        let files = FileManager.default
        try files.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: directory) }
        try files.linkItem(atPath: Programs.path("qr"), toPath: directory + "/qr")
        if let script {
            try files.createSymbolicLink(
                atPath: directory + "/qr-scan", withDestinationPath: "/bin/sh")
            try Data("\(script)\n".utf8).write(
                to: URL(fileURLWithPath: directory + "/pictures"))
        }
        // The shared libraries of a debug build are found as before.
        return try Command(
            path: directory + "/qr", arguments,
            environment: ["LD_LIBRARY_PATH": Self.folderOfPrograms, "PATH": "/usr/bin:/bin"],
            directory: directory
        ).run(stdin: .whole(Array("picture".utf8)))
    }

    @Test func aMissingProgramIsNamed() throws {
        for arguments in [["scan"], ["scan", "--camera", "/dev/null"]] {
            let run = try qr(arguments, script: nil)
            #expect(run.status == 78 && run.stdout.isEmpty, "\(run.stderr)")
            #expect(
                run.stderr.contains("the program qr-scan, which reads pictures, is not installed"))
            #expect(run.stderr.contains("hint: "))
        }
    }

    @Test func aProcessThatDiesIsReported() throws {
        for (script, status, text) in [
            ("kill -SEGV $$", 65, "or its decoder crashed"),
            ("kill -SYS $$", 65, "or its decoder crashed"),
            ("kill -ABRT $$", 65, "or its decoder crashed"),
            ("exit 0", 65, "or its decoder crashed"),
            ("exit 127", 78, "cannot be started"),
            ("echo nonsense; exec sleep 100", 65, "or its decoder crashed"),
            ("echo '{\"type\":\"symbol\",\"data\":\"YQ==\"}'", 65, "or its decoder crashed"),
            ("kill -XCPU $$", 65, "30 seconds of processor time"),
            ("echo '{\"type\":\"error\",\"error\":\"unrestricted\",\"code\":22}'", 78, "seccomp"),
        ] as [(String, Int32, String)] {
            let run = try qr(["scan"], script: script)
            #expect(run.status == status && run.stdout.isEmpty, "\(script): \(run.stderr)")
            #expect(run.stderr.contains(text), "\(script): \(run.stderr)")
            #expect(run.stderr.split(separator: "\n").count == 2, "\(run.stderr)")
        }
    }

    /// A code is made, and read back, without the program.
    @Test func aCodeNeedsNoProgram() throws {
        let run = try qr(["-t", "png"], script: nil)
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try Picture(decoding: run.stdout).codes() == [Array("picture".utf8)])
    }

    // MARK: The records

    @Test func everyFaultIsARecord() {
        for fault in ScanFault.all(code: 13) {
            let line = ScanReply.fault(fault).line
            #expect(ScanReply(parsing: Array(line.dropLast())) == .fault(fault))
        }
        #expect(Set(ScanFault.all(code: 0).map(\.name)).count == ScanFault.all(code: 0).count)
    }

    @Test func otherTextIsNoRecord() {
        for text in [
            "", "{}", "[]", "end", #"{"type":"other"}"#, #"{"type":"symbol","data":"YQ=="}"#,
            #"{"type":"symbol","data":"YQ","polygon":[]}"#,
            #"{"type":"symbol","data":"YQ==","polygon":[[1]]}"#,
            #"{"type":"symbol","data":"YQ==","polygon":[[1,9223372036854775807]]}"#,
            #"{"type":"symbol","data":"YQ==","polygon":[["1",2]]}"#,
            #"{"type":"error","error":"no-such","code":0}"#,
            #"{"type":"error","error":"picture-empty","code":4294967296}"#,
        ] {
            #expect(ScanReply(parsing: Array(text.utf8)) == nil, "\(text)")
        }
    }
}
