import Sotto
import TestSupport
import Testing

/// The skeletons of UTS 39.
struct SkeletonTests {
    private struct Answers: Decodable {
        let unicode: [Int]
        let characters: Int
        let changed: Int
        let sha256: Hex
        let randomSha256: Hex
        let unstable: [UInt32]
    }

    @Test(arguments: [
        // Cyrillic letters in a Latin word, and in all of it.
        ("paypal", "p\u{430}yp\u{430}l"), ("scope", "\u{455}\u{441}\u{43E}\u{440}\u{435}"),
        // Greek, and a digit of another script.
        ("o", "\u{3BF}"), ("o", "\u{665}"),
        ("modern", "rnodem"), ("l", "1"), ("l", "I"), ("l", "|"), ("O", "0"),
        // Mathematical letters.
        ("bob", "\u{1D41B}\u{1D428}\u{1D41B}"),
        // Composed and decomposed.
        ("jos\u{E9}", "jose\u{301}"), ("\u{AC01}", "\u{1100}\u{1161}\u{11A8}"),
    ])
    func textsThatLookAlikeHaveOneSkeleton(_ one: String, _ other: String) {
        #expect(skeleton(of: one).isSameBytes(as: skeleton(of: other)))
    }

    @Test(arguments: [
        ("bob", "Bob"), ("bob", "b0b"), ("bob", "bobb"), ("jose", "jos\u{E9}"), ("i", "l"),
        ("\u{4E2D}", "\u{56FD}"), ("", "a"),
    ])
    func textsThatDifferHaveTwo(_ one: String, _ other: String) {
        #expect(!skeleton(of: one).isSameBytes(as: skeleton(of: other)))
    }

    /// Every character and 10,000 random texts have the skeletons that ICU gives, and a skeleton is its own skeleton, except those
    /// that ICU lists.
    @Test func theSkeletonsAreThoseOfICU() throws {
        let answers = Vectors.load("skeletons", as: Answers.self)
        let version = (answers.unicode[0], answers.unicode[1])
        let characters = (0..<UInt32(0xF0000)).compactMap { Unicode.Scalar($0) }.filter { scalar in
            guard let age = scalar.properties.age else { return false }
            return (age.major, age.minor) <= version
        }
        #expect(characters.count == answers.characters)
        var all: [UInt8] = []
        var changed: [Unicode.Scalar] = []
        var unstable: [UInt32] = []
        for character in characters {
            let text = String(Character(character))
            let skeleton = skeleton(of: text)
            all += skeleton.utf8
            all.append(0x0A)
            guard !skeleton.isSameBytes(as: text) else { continue }
            changed.append(character)
            if !Sotto.skeleton(of: skeleton).isSameBytes(as: skeleton) {
                unstable.append(character.value)
            }
        }
        #expect(sha256(all) == answers.sha256.bytes)
        #expect(changed.count == answers.changed)
        #expect(unstable == answers.unstable)

        var generator = SeededGenerator(state: 39)
        func draw(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }
        var random: [UInt8] = []
        for _ in 0..<10_000 {
            var text = String.UnicodeScalarView()
            for _ in 0...draw(12) {
                let some = draw(2) == 0 ? characters : changed
                text.append(some[draw(some.count)])
            }
            random += skeleton(of: String(text)).utf8
            random.append(0x0A)
        }
        #expect(sha256(random) == answers.randomSha256.bytes)
    }
}
