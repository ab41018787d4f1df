import Foundation
import Sotto
import Testing
import TestSupport

/// Bodies of messages: known answers, which an independent program made, and properties.
struct BodyTests {
    struct Answers: Decodable {
        let cases: [Case]
        /// All emoji of Unicode, separated by spaces.
        let emoji: String

        struct Case: Decodable {
            let body: String
            let error: String?
        }
    }

    static let answers = Vectors.load("bodies", as: Answers.self)
    static let hers = MessageTarget(
        id: "00000000-0000-4000-8000-000000000001",
        from: KeyID("05" + String(repeating: "0a", count: 32))!)

    /// Returns the error in the form of the known answers.
    static func text(_ error: BodyError) -> String {
        switch error {
        case .member(let path): path
        case .tooLong(let path, let limit): "\(path) > \(limit)"
        case .notContent(let type): "not content: \(type)"
        case .system: "system"
        case .form(let error): "form: \(error)"
        }
    }

    static func read(_ text: String) throws -> Result<MessageBody, BodyError> {
        let record = try JSON.object(parsing: Array(text.utf8))
        do throws(BodyError) {
            return .success(try MessageBody(record))
        } catch {
            return .failure(error)
        }
    }

    @Test func bodiesAreReadAsTheKnownAnswersSay() throws {
        #expect(Self.answers.cases.count > 1000)
        for answer in Self.answers.cases {
            switch try Self.read(answer.body) {
            case .success(let body):
                #expect(answer.error == nil, "\(answer.body)")
                #expect(try MessageBody(body.record) == body, "\(answer.body)")
                // All members return, known or not. Only an empty list is left out.
                if answer.body.contains("[]") { continue }
                let record = try JSON.object(parsing: Array(answer.body.utf8))
                #expect(
                    JSON.object(body.record).canonical() == JSON.object(record).canonical(),
                    "\(answer.body)")
            case .failure(let error):
                #expect(answer.error == Self.text(error), "\(answer.body)")
            }
        }
    }

    @Test func everyEmojiOfUnicodeIsAnEmoji() {
        // A space and a skin tone are one character.
        let all = Self.answers.emoji.unicodeScalars.split(separator: " ").map { String($0) }
        #expect(all.count > 4000)
        for emoji in all { #expect(Emoji.isEmoji(emoji), "\(emoji)") }
        #expect(Emoji.areSame("\u{2764}", "\u{2764}\u{FE0F}"))
        #expect(!Emoji.areSame("👍", "👎"))
        #expect(!Emoji.areSame("👍", "👍🏽"))
    }

    /// Keyboards write more forms than Unicode recommends.
    @Test func everyUsualFormOfAnEmojiIsAccepted() {
        for emoji in [
            "\u{263A}\u{FE0E}", "\u{261D}\u{FE0F}\u{1F3FD}", "\u{1F44D}\u{1F3FD}\u{FE0F}",
            "\u{1F1E9}\u{1F1EA}\u{FE0F}", "1\u{20E3}", "1\u{FE0F}\u{20E3}", "#\u{FE0E}\u{20E3}",
            "\u{1F468}\u{1F3FB}\u{200D}\u{2764}\u{200D}\u{1F48B}\u{200D}\u{1F468}\u{1F3FF}",
            "\u{1F3F3}\u{200D}\u{1F308}", "\u{1F3F4}\u{200D}\u{2620}\u{FE0F}", "\u{00A9}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
            "\u{1F441}\u{FE0F}\u{200D}\u{1F5E8}\u{FE0F}",
        ] {
            #expect(Emoji.isEmoji(emoji), "\(emoji)")
        }
        for text in [
            "", "1", "a", "\u{FE0F}", "\u{200D}", "\u{1F1E9}", "1\u{FE0F}", "\u{20E3}",
            "\u{1F44D}\u{200D}", "\u{200D}\u{1F44D}", "\u{1F44D}\u{1F44D}", "\u{1F44D} ",
            "\u{1F1E9}\u{1F1EA}\u{1F1EB}\u{1F1F7}", "\u{1F3F4}\u{E0067}", "\u{1F44D}a",
            "\u{1F44D}\u{FE0F}\u{FE0F}",
        ] {
            #expect(!Emoji.isEmoji(text), "\(text.unicodeScalars.map(\.value))")
        }
    }

    /// An emoji of a later version of Unicode is no malformed message.
    @Test func codePointsReservedForEmojiAreAccepted() {
        #expect(Emoji.isEmoji("\u{1FAFF}"))
        #expect(Emoji.isEmoji("\u{1FC00}"))
        #expect(!Emoji.isEmoji("\u{2FE0}"))
    }

    @Test func aRandomChangeNeverStopsAReader() throws {
        try withGenerator { generator in
            for _ in 0..<3000 {
                let answer = Self.answers.cases.randomElement(using: &generator)!
                var bytes = Array(answer.body.utf8)
                for _ in 0..<generator.int(1..<4) {
                    bytes[generator.int(0..<bytes.count)] = UInt8(generator.int(0x20..<0x7F))
                }
                guard let record = try? JSON.object(parsing: bytes),
                    let body = try? MessageBody(record)
                else { continue }
                let again = try MessageBody(body.record)
                #expect(again == body, generator.comment)
            }
        }
    }

    @Test func memberOfALaterVersionIsKept() throws {
        let body = try Self.read(
            #"{"type":"text","text":"a","x":{"y":[1]},"mentions":[],"reply":{"id":"00000000-0000-4000-8000-000000000001","from":"050a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","text":"b"}}"#
        ).get()
        #expect(body.extra == ["x": .object(["y": .array([.integer(1)])])])
        #expect(body.content.reply?.text == "b")
        #expect(body.content.reply?.target == Self.hers)
    }

    /// A type of a later version keeps its members. A lifetime applies to it too.
    @Test func contentMembersOfAnUnknownTypeAreRead() throws {
        let poll = try Self.read(
            #"{"type":"poll","expires":{"after":60,"from":"read"},"question":"when?"}"#
        ).get()
        #expect(poll.isContent)
        #expect(poll.content.expires == .init(after: 60, from: .read))
        let other = try Self.read(#"{"type":"poll","expires":"never"}"#).get()
        #expect(other.content.expires == nil)
        #expect(other.extra["expires"] == .string("never"))
    }

    @Test func everyPathGivesAFileName() throws {
        #expect(FileBody.name(ofPath: "a/b c.txt") == "b c.txt")
        #expect(FileBody.name(ofPath: "x\u{1B}[2J\n\\y") == "x\u{FFFD}[2J\u{FFFD}\u{FFFD}y")
        #expect(FileBody.name(ofPath: "a/..") == "file" && FileBody.name(ofPath: "") == "file")
        try withGenerator { generator in
            for _ in 0..<500 {
                let bytes = generator.bytes(generator.int(0..<400))
                let name = FileBody.name(ofPath: String(decoding: bytes, as: UTF8.self))
                #expect(FileBody.isName(name), generator.comment)
            }
        }
    }

    /// Each type has an example in sotto-formats(5).
    @Test func examplesOfTheManualPageAreBodies() throws {
        let page = try Vectors.text(ofFile: "man/sotto-formats.5")
        let section = try #require(page.components(separatedBy: ".Sh BODIES\n").last)
            .components(separatedBy: "\n.Sh ")[0]
        let examples = section.split(separator: "\n").filter { $0.hasPrefix("{\"type\":") }
        var types: Set<String> = []
        for example in examples {
            let text = example.replacingOccurrences(of: "\\&", with: "")
            let record = try JSON.object(parsing: Array(text.utf8))
            types.insert(try MessageBody(record, isLocal: true).kind.type)
        }
        #expect(
            types == [
                "text", "data", "file", "reaction", "edit", "delete", "pin", "unpin", "receipt",
                "timer", "typing", "presence", "profile", "call", "group", "devices", "sync",
                "history", "repair", "system",
            ])
    }

    /// The published schema refuses the same bodies, as far as a schema can: it counts characters and not bytes, and it
    /// knows no emoji.
    @Test(.needs(.pythonPackages)) func theSchemaAgrees() throws {
        let invalid = try Peers.invalid(Self.answers.cases.map(\.body), schema: "body.json")
        for (index, answer) in Self.answers.cases.enumerated() {
            let isMissed =
                ["emoji", "data", "name", "candidates"].contains(answer.error)
                || answer.error?.contains(" > ") == true
            if isMissed, !invalid.contains(index) { continue }
            #expect(invalid.contains(index) == (answer.error != nil), "\(answer.body)")
        }
    }

    @Test func systemBodyIsReadOnlyIfItIsLocal() throws {
        let record: JSONObject = [
            "type": .string("system"), "event": .string("key-changed"), "with": .string("bob"),
        ]
        #expect(throws: BodyError.system) { try MessageBody(record) }
        let body = try MessageBody(record, isLocal: true)
        #expect(body.kind == .system(event: "key-changed"))
        #expect(body.record == record)
        // A local body does not allow a body from outside to have one.
        let edit: JSONObject = [
            "type": .string("edit"), "target": .object(Self.hers.record), "body": .object(record),
        ]
        #expect(throws: BodyError.system) { try MessageBody(edit, isLocal: true) }
    }

    @Test func editOfAnEditIsRefused() throws {
        var inner: JSONObject = ["type": .string("text"), "text": .string("x")]
        for _ in 0..<2 {
            inner = [
                "type": .string("edit"), "target": .object(Self.hers.record),
                "body": .object(inner),
            ]
        }
        #expect(throws: BodyError.notContent("edit")) { try MessageBody(inner) }
    }
}
