import Foundation
import Sotto
import TestSupport
import Testing

/// In Turkish a small I has no dot, and a capital i has one. No text of the tools depends on the locale.
struct LocaleTests {
    /// Makes the locale in a folder. Without it, glibc would use "C" instead.
    private static func makeTurkish(in folder: TemporaryDirectory) throws {
        let run = try Command(
            path: "/usr/bin/localedef", ["-i", "tr_TR", "-f", "UTF-8", folder("tr_TR.UTF-8")],
            environment: ["PATH": "/usr/bin:/bin"], directory: folder.path
        ).run()
        try #require(run.status == 0, "\(run.stderr)")
    }

    /// An example of BIP 39 with an I in it.
    private static let words =
        "legal winner thank year wave sausage worth useful legal winner thank yellow"

    /// A home in which every program gets a locale.
    private struct Place {
        let home: Home
        let locale: [String: String]

        init(_ locale: String, folder: String?) throws {
            home = Home()
            var environment = ["LC_ALL": locale, "LANG": locale]
            environment["LOCPATH"] = folder
            self.locale = environment
        }

        func run(_ tool: String, _ arguments: [String], _ stdin: [UInt8] = []) throws -> Run {
            try home.run(tool, arguments, stdin: .whole(stdin), environment: locale)
        }

        /// Returns the output of a program that must succeed.
        func must(
            _ tool: String, _ arguments: [String], _ stdin: [UInt8] = [],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> [UInt8] {
            let run = try run(tool, arguments, stdin)
            #expect(
                run.status == 0, "\(tool) \(arguments): \(run.stderr)",
                sourceLocation: sourceLocation)
            return run.stdout
        }

        /// Returns a text with every time in it replaced.
        private func timeless(_ text: [UInt8]) -> [UInt8] {
            Array(
                String(decoding: text, as: UTF8.self)
                    .replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}[T\ ][0-9:]+Z?/#, with: "TIME").utf8)
        }

        /// Returns all output of the programs for the same input, which must be the same each time.
        func transcript() throws -> [[UInt8]] {
            var said: [[UInt8]] = []
            let upper = Array(LocaleTests.words.uppercased().utf8)
            _ = try must("keygen", ["recover", "--name", "IRIS", "-o", "iris.key"], upper)
            said.append(try home.files.read("iris.key"))
            _ = try must(
                "keygen", ["recover", "--name", "ilsabil", "-o", "ilsabil.key"],
                Array((String(repeating: "ABANDON ", count: 11) + "ABOUT").utf8))
            for name in ["iris", "ilsabil"] {
                let card = try must("keygen", ["public", "\(name).key"])
                home.files.write("\(name).card", card)
                said.append(card)
                said.append(try must("keygen", ["public", "--uri", "\(name).key"]))
                said.append(try must("keygen", ["words", "\(name).key"]))
            }
            said.append(try must("fingerprint", ["iris.card"]))
            said.append(
                try must("fingerprint", ["-i", "iris.key", "--with", "ilsabil.card", "iris.card"]))
            // Contacts are found and sorted without regard to case.
            _ = try must("contact", ["add", "ilsabil.card", "-i", "iris.key"])
            _ = try must(
                "contact",
                ["rename", "ilsabil", "IVI", "-i", "iris.key"])
            said.append(timeless(try must("contact", ["show", "--text", "ivi", "-i", "iris.key"])))
            said.append(timeless(try must("contact", ["list", "--text", "-i", "iris.key"])))
            let id = try Card(record: JSON.object(parsing: home.files.read("ilsabil.card"))).id
            said.append(
                timeless(
                    try must(
                        "contact",
                        ["show", "--text", id.description.uppercased(), "-i", "iris.key"])))
            // Padding without random bytes.
            said.append(try must("pad", ["--scheme", "iso7816", "--block", "64"], upper))
            // Errors have the same text.
            for arguments in [["--scheme", "ISO7816"], ["--remove"], ["--block", "I"]] {
                let run = try run("pad", arguments, upper)
                said.append(Array("\(run.status) \(run.stderr)".utf8))
            }
            let wrong = try run("keygen", ["recover", "-o", "x.key"], Array("WIINNER".utf8))
            said.append(Array("\(wrong.status) \(wrong.stderr)".utf8))
            return said
        }

        /// Encrypts to the recipients by every name; another locale decrypts it.
        func sealed() throws -> [(arguments: [String], bytes: [UInt8])] {
            let card = try Card(record: JSON.object(parsing: home.files.read("ilsabil.card")))
            let age = card.recipient(classic: true).text
            let text = Array("iIıİ \u{130}\n".utf8)
            var written: [(arguments: [String], bytes: [UInt8])] = []
            for recipient in [age, age.uppercased(), "ilsabil.card"] {
                let armor = recipient == age ? ["-a"] : []
                written.append(
                    (
                        ["-i", "ilsabil.key"],
                        try must("encrypt", ["-r", recipient] + armor, text)
                    ))
            }
            for name in ["IVI", "ivi"] {
                let file = try must("encrypt", ["-r", name, "-s", "-i", "iris.key"], text)
                written.append((["-i", "ilsabil.key", "--from", "iris.card"], file))
            }
            let envelope = try must("encrypt", ["--to", "ivi", "-i", "iris.key"], text)
            written.append((["-i", "ilsabil.key", "--text", "-q"], envelope))
            let frame = try must("pad", [], text)
            #expect(frame.count == 64)
            #expect(try must("pad", ["--remove"], frame) == text)
            return written
        }
    }

    /// Returns a card without its signing time.
    private static func timeless(_ bytes: [UInt8]) -> [UInt8] {
        guard var record = try? JSON.object(parsing: bytes), record["issued"] != nil else {
            return bytes
        }
        (record["issued"], record["sig"]) = (nil, nil)
        return record.serialized()
    }

    @Test(.needs(.locales)) func turkishChangesNothing() throws {
        let folder = TemporaryDirectory()
        try Self.makeTurkish(in: folder)
        let plain = try Place("C.UTF-8", folder: nil)
        let turkish = try Place("tr_TR.UTF-8", folder: folder.path)
        let (expected, found) = (try plain.transcript(), try turkish.transcript())
        #expect(expected.count == found.count)
        for (a, b) in zip(expected, found) {
            #expect(
                Self.timeless(a) == Self.timeless(b),
                "\(String(decoding: a, as: UTF8.self)) \(String(decoding: b, as: UTF8.self))")
        }
        // Data written with one locale is read with the other.
        for (writer, reader) in [(plain, turkish), (turkish, plain), (turkish, turkish)] {
            for (arguments, bytes) in try writer.sealed() {
                let read = try reader.must("decrypt", arguments, bytes)
                #expect(read.starts(with: Array("iIıİ \u{130}".utf8)), "\(arguments)")
            }
        }
    }
}
