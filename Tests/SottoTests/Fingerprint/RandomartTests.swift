import Sotto
import Testing

/// The picture of a fingerprint.
struct RandomartTests {
    /// The output of `ssh-keygen -lv` of OpenSSH 9.2 for a key with this hash.
    @Test func thePictureIsThatOfSSHKeygen() throws {
        let hash = try #require(
            Base64.standard.decode("l/P7aiauXqLQijLJ7oVvtREWjKPaVP/i2g6T+Ht5kL0="))
        let expected = """
            +--[ED25519 256]--+
            |    o            |
            |   o.o           |
            |  .....          |
            | ..  o.    .     |
            |.o  . .+S +      |
            |. o. =+ o. o     |
            |.o..*.++... .    |
            |+.o+ B+.Eo. o.   |
            |o=o.==+ooo.+oo.  |
            +----[SHA256]-----+
            """
        let drawn = Randomart.lines(of: hash, title: "ED25519 256", footer: "SHA256")
        #expect(drawn == expected.split(separator: "\n").map(String.init))
    }

    @Test func thePictureIsOfTheDigitsAsText() {
        let digits = String(repeating: "012345678901234567890123456789", count: 2)
        for (number, title) in [
            (String(digits.prefix(30)), "fingerprint"), (digits, "safety number"),
        ] {
            let drawn = Randomart.lines(ofDigits: number)
            #expect(
                drawn
                    == Randomart.lines(
                        of: sha256(Array(number.utf8)), title: title, footer: "SHA256"))
            #expect(drawn.count == 11 && drawn.allSatisfy { $0.count == 19 })
        }
    }
}
