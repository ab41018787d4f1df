import Sotto
import TestSupport
import Testing

/// The whole picture of a profile, through a relay, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct ProfilePictureTests {
    let world: Correspondence

    init() throws {
        world = try Correspondence()
        try world.expect("alice", "contact add -q --name bob bob.card")
        try world.expect("bob", "contact add -q --name alice alice.card")
    }

    /// Makes a picture of more than 8 KiB, which is no thumbnail.
    private func makePicture(_ name: String, seed: UInt64) throws -> [UInt8] {
        var generator = SeededGenerator(state: seed)
        let letters = (0..<2_300).map { _ in UInt8.random(in: 0x61...0x7A, using: &generator) }
        world.scratch.write("letters", letters)
        try world.expect("alice", "qr -t png -o \(name) < letters")
        let bytes = try world.scratch.read(name)
        try #require(bytes.count > BodyLimits.thumbnail, "\(bytes.count)")
        return bytes
    }

    private func profile(_ line: String) throws -> JSONObject {
        let lines = try world.expect("bob", line)
        return try JSON.object(parsing: Array(try #require(lines.first).utf8))
    }

    @Test func aBigPictureIsAFile() throws {
        let picture = try makePicture("me.png", seed: 1)
        try world.expect("alice", "contact profile set --avatar me.png | encrypt -q | send -q")
        let said = try world.expect("bob", "recv -q | decrypt -q --text")
        #expect(said.first == "[sent a profile: picture]", "\(said)")
        #expect(
            said.last?.hasPrefix("[file avatar.png, \(picture.count) bytes; to save it:") == true)
        // The small picture is there at once, and the record has the pointer to the whole one.
        let kept = try profile("contact profile show alice")
        let small = try #require(kept["avatar"]?.string.flatMap { Base64.standard.decode($0) })
        #expect(JPEGSize(of: small)?.isSmall == true)
        #expect(kept["size"] == .integer(Int64(picture.count)))
        #expect(kept["contentType"] == .string("image/png"))
        // Each place where a person sees the profile has the command.
        let command = try #require(
            world.expect("bob", "contact show --text alice")
                .first { $0.contains("the whole one, \(picture.count) bytes: sotto save ") })
        let number = try #require(command.split(separator: " ").last.flatMap { Int($0) })
        try world.expect("bob", "contact profile avatar alice > small.jpg")
        #expect(try world.scratch.read("small.jpg") == small)
        #expect(world.errors.contains("to save the whole one: sotto save \(number)\n"))
        let page = try world.expect("bob", "history export --format html alice")
        #expect(page.contains("<p>whole picture: \(picture.count) bytes, of message \(number)</p>"))
        try world.expect("bob", "mkdir out; sotto save -q -o out \(number)")
        let saved = try world.scratch.read("out/avatar.png")
        #expect(saved == picture, "\(saved.count)")
        // Nothing is due, although the copy of each contact has another place.
        #expect(world.shell("alice", "contact profile send").status == 1)
        try world.expect("alice", "contact profile send bob | encrypt -q | send -q")
        #expect(try world.expect("bob", "recv -q | decrypt -q --text").count == 2)
        let changes = try world.expect("bob", "history --text alice")
        #expect(changes.filter { $0.contains("changed the profile: picture") }.count == 1)
        world.stop()
    }

    @Test func anotherPictureReplacesIt() throws {
        _ = try makePicture("one.png", seed: 2)
        let second = try makePicture("two.png", seed: 3)
        for name in ["one.png", "two.png"] {
            try world.expect("alice", "contact profile set --avatar \(name) | encrypt -q | send -q")
        }
        try world.expect("bob", "recv -q | decrypt -q > /dev/null")
        let row = try #require(
            world.expect("bob", "contact show --text alice").first { $0.contains("sotto save ") })
        let number = try #require(row.split(separator: " ").last)
        try world.expect("bob", "sotto save -q -o whole \(number)")
        #expect(try world.scratch.read("whole") == second)
        // Without a picture none is named.
        try world.expect(
            "alice", "contact profile set --avatar '' --name Al | encrypt -q | send -q")
        try world.expect("bob", "recv -q | decrypt -q > /dev/null")
        let kept = try profile("contact profile show alice")
        #expect(kept["name"] == .string("Al") && kept["avatar"] == nil && kept["blob"] == nil)
        world.stop()
    }

    /// A picture whose encrypted file is not here any more goes small to a new contact.
    @Test func aMissingFileIsTold() throws {
        _ = try makePicture("me.png", seed: 4)
        try world.expect("alice", "contact profile set --avatar me.png > records")
        try world.expect("alice", "rm \"$SOTTO_HOME\"/blobs/*")
        try world.expect("alice", "contact profile send bob | encrypt -q | send -q")
        #expect(world.errors.contains("contact profile set --avatar FILE"), "\(world.errors)")
        try world.expect("bob", "recv -q | decrypt -q > /dev/null")
        #expect(try profile("contact profile show alice")["avatar"] != nil)
        let shown = try world.expect("bob", "contact show --text alice")
        #expect(!shown.contains { $0.contains("sotto save") })
        world.stop()
    }
}
