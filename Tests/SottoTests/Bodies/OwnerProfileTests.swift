import Sotto
import TestSupport
import Testing

/// Profiles as values, and the size of the picture in one.
struct OwnerProfileTests {
    private static func profile(_ seconds: Int64 = 0) -> OwnerProfile {
        var profile = OwnerProfile(issued: Timestamp(seconds: seconds))
        profile.name = "Alice"
        profile.phone = "+420 123 456 789"
        profile.location = "Brno"
        return profile
    }

    @Test func aProfileNamesItsParts() {
        let profile = Self.profile()
        #expect(profile.parts == [.name, .phone, .location])
        #expect(profile.changes(since: nil) == profile.parts)
        // The time is no part.
        #expect(profile.changes(since: Self.profile(1)).isEmpty)
        #expect(OwnerProfile(issued: .now()).changes(since: profile) == profile.parts)
    }

    @Test func aHiddenPartIsNotInACopy() {
        let copy = Self.profile().without([.phone, .avatar])
        #expect(copy.parts == [.name, .location] && copy.issued == Self.profile().issued)
        let text = JSON.object(MessageBody(.profile(copy)).record).canonical()
        #expect(!String(decoding: text, as: UTF8.self).contains("phone"))
    }

    /// The headers are those of ITU-T T.81, annex B, with each kind of segment before the frame.
    @Test(
        arguments: [
            ([0xFF, 0xC0, 0, 11, 8, 1, 2, 3, 4, 1, 1, 0x11, 0], [0x0304, 0x0102]),
            ([0xFF, 0xC2, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0], [1, 1]),
            // A byte that fills up, a comment, and a table of codes, whose marker is among those of frames.
            (
                [0xFF, 0xFF, 0xFE, 0, 2, 0xFF, 0xC4, 0, 3, 9, 0xFF, 0xC1, 0, 8, 8, 4, 0, 4, 0, 0],
                [1024, 1024]
            ),
            ([0xFF, 0xC0, 0, 11, 8, 0, 0, 0, 1, 1, 1, 0x11, 0], nil),
            ([0xFF, 0xC0, 0, 7, 8, 0, 1, 0, 1], nil),
            ([0xFF, 0xC0, 0, 11, 8, 0, 1], nil),
            ([0xFF, 0xFE, 0, 1, 0xFF, 0xC0, 0, 8, 8, 0, 1, 0, 1, 0], nil),
            ([0xFF, 0xDA, 0, 2, 0xFF, 0xC0, 0, 8, 8, 0, 1, 0, 1, 0], nil),
            ([0x00, 0xFF, 0xC0, 0, 8, 8, 0, 1, 0, 1, 0], nil), ([], nil),
        ] as [([UInt8], [Int]?)])
    func theSizeIsThatOfTheFrameHeader(_ segments: [UInt8], _ size: [Int]?) {
        let found = JPEGSize(of: [0xFF, 0xD8] + segments)
        #expect(found.map { [$0.width, $0.height] } == size)
    }

    @Test func aLargePictureIsNotSmall() throws {
        for (width, height) in [(1_024, 1_024), (1, 1)] {
            let size = try #require(JPEGSize(of: Sample.jpeg(width: width, height: height)))
            #expect(size.isSmall)
        }
        for (width, height) in [(1_025, 1), (1, 1_025), (65_535, 65_535)] {
            let size = try #require(JPEGSize(of: Sample.jpeg(width: width, height: height)))
            #expect(!size.isSmall)
        }
    }

    @Test func anyBytesAreReadWithinTheirEnd() throws {
        try withGenerator { random in
            for _ in 0..<2_000 {
                var bytes = Sample.jpeg(width: 320, height: 240, comment: "abc")
                for _ in 0..<random.int(1..<4) {
                    bytes[random.int(0..<bytes.count)] = UInt8(random.int(0..<256))
                }
                bytes = Array(bytes.prefix(random.int(0..<bytes.count + 1)))
                if let size = JPEGSize(of: bytes) {
                    #expect(1...65_535 ~= size.width && 1...65_535 ~= size.height)
                }
            }
        }
    }
}
