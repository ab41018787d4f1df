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

    @Test func theWholePictureIsOfThePartAvatar() throws {
        func picture(_ byte: UInt8, at place: BlobPointer.Place? = nil) throws -> OwnerProfile {
            var profile = Self.profile()
            profile.avatar = Sample.jpeg(width: 1, height: 1)
            let blob = BlobPointer(
                key: [UInt8](repeating: 1, count: 32), digest: [UInt8](repeating: byte, count: 32),
                size: Blob.size(ofFile: 10_000), place: place)
            profile.picture = try #require(.init(blob: blob, size: 10_000, format: .png))
            return profile
        }
        let (first, second) = (try picture(1), try picture(2))
        #expect(second.changes(since: first) == [.avatar])
        let placed = try picture(1, at: .init(relay: nil, id: [UInt8](repeating: 3, count: 32)))
        #expect(placed.changes(since: first).isEmpty)
        #expect(first.without([.avatar]).picture == nil)
        let body = MessageBody(.profile(placed)).record
        #expect(try MessageBody(body).kind == .profile(placed))
        // The members of the picture belong together.
        for (name, value) in [
            ("size", nil), ("size", .integer(20_000)), ("size", .integer(BodyLimits.picture + 1)),
            ("size", .integer(0)), ("contentType", nil), ("contentType", .string("image/gif")),
            ("blob", .string("x")), ("blob", .object([:])),
        ] as [(String, JSON?)] {
            var changed = body
            changed[name] = value
            #expect(throws: BodyError.self, "\(name)") { try MessageBody(changed) }
        }
        var small = body
        small["blob"] = nil
        guard case .profile(let kept) = try MessageBody(small).kind else {
            Issue.record("no profile")
            return
        }
        #expect(kept.picture == nil && kept.avatar == placed.avatar)
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
