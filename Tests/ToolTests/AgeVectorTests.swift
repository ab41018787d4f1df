import Foundation
import Sotto
import TestSupport
import Testing

/// The public test vectors of age (C2SP/CCTV), decrypted with `decrypt`, and read from their own folder.
@Suite(.enabled(if: Vectors.hasExternal, Vectors.hint))
struct AgeVectorTests {
    struct Index: Decodable { let vectors: [Vector] }

    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let expect: String
        let payload: Hex?
        let identity: [String]?
        let passphrase: [String]?
        let compressed: String?
        var testDescription: String { file }

        /// Returns the age file after the header lines and the empty line.
        func load() throws -> [UInt8] {
            let bytes = try Vectors.externalBytes("age-cctv/" + file)
            let separator = try #require(
                (0..<(bytes.count - 1)).first { bytes[$0] == 10 && bytes[$0 + 1] == 10 })
            let body = Array(bytes[(separator + 2)...])
            return compressed == nil ? body : try #require(inflate(body))
        }

        /// The exit statuses for the value of `expect`.
        var statuses: Set<Int32> {
            switch expect {
            case "success": [0]
            case "no match": [10]
            case "HMAC failure", "payload failure": [11]
            // In a truncated armor, the end of the armor or of the payload may be reported first.
            case "armor failure": file == "armor_no_end_line" ? [11, 65] : [65]
            // A truncated header is a truncation.
            case "header failure": file.hasPrefix("stream_") ? [11] : [65]
            default: []
            }
        }
    }

    static let vectors: [Vector] =
        Vectors.hasExternal
        ? Vectors.loadExternal("age-cctv.index.json", as: Index.self).vectors : []

    /// Runs `decrypt` with the vector's keys.
    static func decrypt(_ vector: Vector, in home: Home, _ more: [String], stdin: Feed) throws
        -> Run
    {
        var arguments = more
        home.files.write(
            "identity", Array((vector.identity ?? []).joined(separator: "\n").utf8))
        if vector.identity != nil { arguments += ["-i", "identity"] }
        if let passphrase = vector.passphrase?.first {
            home.files.write("passphrase", Array((passphrase + "\n").utf8))
            arguments += ["--passphrase", "@FILE:passphrase"]
        }
        return try home.run("decrypt", arguments, stdin: stdin)
    }

    static func check(_ vector: Vector, _ run: Run) {
        #expect(
            vector.statuses.contains(run.status), "\(vector.expect): \(run.status) \(run.stderr)")
        if vector.expect == "success" {
            #expect(sha256(run.stdout) == vector.payload?.bytes)
            #expect(run.stderr.isEmpty)
        } else {
            // No vector that fails is longer than the output buffer.
            #expect(run.stdout.isEmpty)
            #expect(run.stderr.hasPrefix("decrypt: error: "))
        }
    }

    @Test(arguments: vectors)
    func aVectorIsDecryptedAsExpected(_ vector: Vector) throws {
        let home = Home()
        let file = try vector.load()
        Self.check(vector, try Self.decrypt(vector, in: home, [], stdin: .whole(file)))
    }

    /// Input in writes of one byte. The two vectors of 16 MiB would take a minute on a busy machine, so only their
    /// first and last 64 KiB are written so, with parts of 4093 bytes between them.
    @Test(arguments: vectors)
    func aVectorIsDecryptedByteByByte(_ vector: Vector) throws {
        let home = Home()
        let file = try vector.load()
        Self.check(vector, try Self.decrypt(vector, in: home, [], stdin: .singly(file)))
    }

    @Test(arguments: vectors)
    func aVectorThatFailsLeavesNoFile(_ vector: Vector) throws {
        let home = Home()
        let run = try Self.decrypt(
            vector, in: home, ["-o", "plain", "--hold"], stdin: .whole(try vector.load()))
        #expect(vector.statuses.contains(run.status))
        if vector.expect == "success" {
            #expect(sha256(try home.files.read("plain")) == vector.payload?.bytes)
        } else {
            let left = try home.files.names()
            #expect(Set(left).isSubset(of: ["identity", "passphrase"]), "\(left)")
        }
    }

    @Test func theIndexIsComplete() {
        #expect(Self.vectors.count > 90)
        #expect(Self.vectors.allSatisfy { !$0.statuses.isEmpty })
    }
}
