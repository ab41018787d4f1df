import Foundation
import Sotto
@testable import SottoQR
@testable import SottoScan
import TestSupport
import Testing

/// Other programs agree with ours on random bytes: for every length up to 1,000 if all peers are required, as in CI, else
/// for some lengths.
@Suite(.needs(.qrencode, .zbarimg))
struct AgreementTests {
    static let lengths = Array(
        stride(from: 1, through: 1000, by: Peer.areRequired ? 1 : 41))

    /// Returns random bytes of each length.
    private static func contents(_ stream: UInt64) -> [[UInt8]] {
        var random = Seeded(stream)
        return lengths.map { random.bytes($0) }
    }

    /// Runs a command for each content, several at a time. The command gets a file with the content and the name of a
    /// picture.
    private static func make(
        _ contents: [[UInt8]], in folder: TemporaryDirectory, program: String,
        _ arguments: @escaping @Sendable (_ source: String, _ picture: String) -> [String]
    ) async throws -> [String] {
        let pictures = contents.map { folder("\($0.count).png") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, content) in contents.enumerated() {
                if place >= 4 { try await group.next() }
                let source = folder.write("\(content.count)", content)
                group.addTask {
                    let run = try Command(path: program, arguments(source, pictures[place])).run()
                    #expect(run.status == 0, "\(content.count) bytes: \(run.stderr)")
                }
            }
            try await group.waitForAll()
        }
        return pictures
    }

    /// `zbarimg` reads the pictures of `qr --exact`, several hundred at a time.
    @Test func zbarimgReadsWhatQRMakes() async throws {
        let folder = TemporaryDirectory()
        let contents = Self.contents(0x71)
        let pictures = try await Self.make(contents, in: folder, program: Programs.path("qr")) {
            ["--exact", "-s", "4", "-o", $1, $0]
        }
        // Its output has no separator between two codes; their lengths separate them.
        let run = try Command(
            path: Peer.zbarimg.path,
            ["-q", "--raw", "--oneshot", "-Sdisable", "-Sqrcode.enable", "-Sbinary"] + pictures
        ).run()
        #expect(run.status == 0, "\(run.stderr)")
        var rest = run.stdout[...]
        for content in contents {
            #expect(rest.prefix(content.count) == content[...], "\(content.count) bytes")
            rest = rest.dropFirst(content.count)
        }
        #expect(rest.isEmpty)
    }

    /// `qr scan` reads the pictures of `qrencode`.
    @Test func qrReadsWhatQrencodeMakes() async throws {
        let folder = TemporaryDirectory()
        let contents = Self.contents(0x72)
        let program = Peer.qrencode.path
        let pictures = try await Self.make(contents, in: folder, program: program) {
            ["-8", "-l", "M", "-s", "3", "-r", $0, "-o", $1]
        }
        let run = try Command(path: Programs.path("qr"), ["scan", "--all", "--json"] + pictures)
            .run()
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.lines.count == contents.count)
        for (line, (content, picture)) in zip(run.lines, zip(contents, pictures)) {
            let record = try JSON(parsing: Array(line.utf8)).object
            #expect(record?["data"]?.string == Base64.standard.encode(content), "\(picture)")
            #expect(record?["file"]?.string == picture)
        }
    }

    /// The modules are the same, not only the content: version, level and mask.
    @Test func theCodeIsThatOfQrencode() async throws {
        let program = Peer.qrencode.path
        for content in Self.contents(0x73).enumerated().filter({ $0.offset % 20 == 0 }).map(
            \.element)
        {
            let drawing = try Command(
                path: program, ["-8", "-l", "M", "-m", "2", "-t", "ASCII", "-o", "-"]
            ).run(stdin: .whole(content))
            #expect(
                drawing.text == (try QRCode(encoding: content)).ascii(margin: 2, ink: .dark),
                "\(content.count) bytes")
        }
    }
}
