@testable import SottoQR
@testable import SottoScan
import Testing

/// Tests of finding codes by their finder patterns.
@Suite struct LocatorTests {
    /// Returns the mapping of a sheet to a picture in which its corners are at `corners`.
    private func place(of sheet: Raster, at corners: [Point]) throws -> Homography {
        let (right, below) = (Double(sheet.width), Double(sheet.height))
        var fit = Homography.Fit(sheet: right, picture: 500)
        for (corner, (u, v)) in zip(
            corners, [(0.0, 0.0), (right, 0.0), (right, below), (0.0, below)])
        {
            fit.add(u, v, seenAt: corner)
        }
        return try #require(fit.solved())
    }

    /// Returns the picture of a sheet with its corners at `corners`, on grey.
    private func seen(_ sheet: Raster, at corners: [Point], width: Int, height: Int) throws
        -> Raster
    {
        let place = try place(of: sheet, at: corners)
        // From the picture to the sheet.
        var fit = Homography.Fit(sheet: Double(width), picture: Double(sheet.width))
        for u in [0, Double(sheet.width)] {
            for v in [0, Double(sheet.height)] {
                let point = place(u, v)
                fit.add(point.x, point.y, seenAt: Point(x: u, y: v))
            }
        }
        let back = try #require(fit.solved())
        return sheet.pixels.withUnsafeBufferPointer { pixels in
            let view = GrayView(pixels: pixels, width: sheet.width, height: sheet.height)
            return Raster(width: width, height: height) { x, y in
                let point = back(Double(x), Double(y))
                guard 0..<Double(sheet.width) ~= point.x, 0..<Double(sheet.height) ~= point.y
                else { return 120 }
                return UInt8(view[point])
            }
        }
    }

    /// Seen from the side, where zbar alone finds no large code.
    @Test(arguments: [200, 662, 1000]) func perspective(count: Int) throws {
        var random = Seeded(0x61)
        let bytes = random.bytes(count)
        let sheet = try QRCode(encoding: bytes, level: .low).raster(size: 8, margin: 4)
        let corners = [
            Point(x: 160, y: 60), Point(x: 620, y: 30), Point(x: 660, y: 560), Point(x: 40, y: 480),
        ]
        let picture = try seen(sheet, at: corners, width: 700, height: 600)
        #expect(try count < 600 || Scanner().symbols(in: picture).isEmpty)
        let place = try place(of: sheet, at: corners)
        let (near, far) = (32.0, Double(sheet.width) - 32)
        let expected = [place(near, near), place(near, far), place(far, far), place(far, near)]
        for raster in [picture, picture.inverted()] {
            let symbols = try Picture(raster: raster).symbols()
            #expect(symbols.map(\.bytes) == [bytes])
            let found = symbols.first?.polygon ?? []
            #expect(found.count == 4)
            for (corner, expected) in zip(found, expected) {
                #expect((corner - expected).length < 3)
            }
        }
    }

    @Test func severalInPerspective() throws {
        let contents = ["left", "right"].map { Array($0.utf8) }
        let pieces = try contents.map { try QRCode(encoding: $0).raster(size: 8, margin: 4) }
        let side = pieces[0].width
        let sheet = Raster(width: 2 * side, height: side) { x, y in
            pieces[x / side].pixels[y * side + x % side]
        }
        let picture = try seen(
            sheet,
            at: [
                Point(x: 20, y: 40), Point(x: 560, y: 10), Point(x: 590, y: 300),
                Point(x: 10, y: 250),
            ], width: 600, height: 320)
        let codes = try Picture(raster: picture).symbols(.thorough).map(\.bytes)
        #expect(Set(codes) == Set(contents))
    }

    /// The table of ISO/IEC 18004, annex E, and the encoder give the same positions.
    @Test func alignmentPatterns() throws {
        #expect(FunctionPatterns.alignmentPlaces(side: 21) == [])
        #expect(FunctionPatterns.alignmentPlaces(side: 25) == [6, 18])
        #expect(FunctionPatterns.alignmentPlaces(side: 145) == [6, 34, 60, 86, 112, 138])
        #expect(FunctionPatterns.alignmentPlaces(side: 177) == [6, 30, 58, 86, 114, 142, 170])
        for version in 2...40 {
            let side = 17 + 4 * version
            let patterns = FunctionPatterns(side: side)
            let places = FunctionPatterns.alignmentPlaces(side: side)
            #expect(places.count == version / 7 + 2 && places.last == side - 7)
            for row in places.dropFirst() {
                for column in places.dropFirst() {
                    for (offset, dark) in [(0, UInt8(1)), (1, 0), (2, 1)] {
                        #expect(patterns.modules[row * side + column + offset] == dark)
                        #expect(patterns.modules[(row - offset) * side + column] == dark)
                    }
                }
            }
        }
    }

    /// No picture crashes the program.
    @Test func picturesWithoutCodes() throws {
        var random = Seeded(0x62)
        for _ in 0..<60 {
            let width = Int.random(in: 1...70, using: &random)
            let height = Int.random(in: 1...70, using: &random)
            let block = Int.random(in: 1...6, using: &random)
            let dots = random.bytes(70 * 70)
            let raster = Raster(width: width, height: height) { x, y in
                dots[y / block * 70 + x / block] & 1 == 1 ? 230 : 20
            }
            var isUnread = false
            for radius in [1, 6, 100] {
                let symbols = Locator(raster)
                    .symbols(radius: radius, isUnread: &isUnread)
                #expect(symbols.isEmpty)
            }
        }
    }

    /// Finder patterns without a code, at all angles and nearly collinear.
    @Test func finderPatternsAlone() throws {
        var random = Seeded(0x63)
        for _ in 0..<20 {
            let places = (0..<5).map { _ in
                (
                    Int.random(in: 0...260, using: &random),
                    Int.random(in: 0...260, using: &random), Int.random(in: 2...5, using: &random)
                )
            }
            let raster = Raster(width: 300, height: 300) { x, y in
                for (left, top, size) in places {
                    let (column, row) = (x - left, y - top)
                    guard 0..<7 * size ~= column, 0..<7 * size ~= row else { continue }
                    let ring = max(abs(column / size - 3), abs(row / size - 3))
                    return ring == 2 ? 255 : 0
                }
                return 255
            }
            var isUnread = false
            let symbols = Locator(raster)
                .symbols(radius: 13, isUnread: &isUnread)
            #expect(symbols.isEmpty)
        }
    }

    @Test func homography() throws {
        let corners = [
            Point(x: 10, y: 20), Point(x: 500, y: 60), Point(x: 420, y: 480), Point(x: -30, y: 300),
        ]
        var fit = Homography.Fit(sheet: 25, picture: 500)
        for (corner, place) in zip(corners, [(0.0, 0.0), (25, 0), (25, 25), (0, 25)]) {
            fit.add(place.0, place.1, seenAt: corner)
        }
        let place = try #require(fit.solved())
        #expect((place(25, 25) - corners[2]).length < 1e-6)
        // Straight lines stay straight: the diagonals intersect in the middle of the sheet.
        let (across, down) = (corners[2] - corners[0], corners[3] - corners[1])
        let share = (corners[1] - corners[0]).cross(down) / across.cross(down)
        #expect((place(12.5, 12.5) - (corners[0] + across * share)).length < 1e-6)
        #expect(Homography.Fit(sheet: 25, picture: 500).solved() == nil)
    }
}
