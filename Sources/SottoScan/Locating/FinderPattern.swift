import Glibc
import SottoQR

/// One of the three squares in the corners of a QR code: dark, light and dark around a dark core, in the proportions
/// 1:1:3:1:1 along each line through its center (ISO/IEC 18004, §6.3.3).
struct FinderPattern {
    /// The center.
    let centre: Point
    /// The outer corners in order.
    let corners: [Point]
    /// Whether light and dark are swapped.
    let isInverse: Bool

    /// The side of a square with the same area, in pixels; a seventh of it is one module.
    var side: Double {
        let (across, down) = (corners[2] - corners[0], corners[3] - corners[1])
        return (abs(across.cross(down)) / 2).squareRoot()
    }
}

extension Bitmap {
    /// Returns at most `limit` finder patterns of the picture, those found in most rows first.
    func finderPatterns(limit: Int) -> [FinderPattern] {
        bits.withUnsafeBufferPointer { bits in
            var search = FinderSearch(bits: bits, width: width, height: height)
            search.run()
            let seen = search.found.all.filter { $0.rows > 1 }.sorted { $0.rows > $1.rows }
            return seen.prefix(limit).compactMap { candidate in
                guard let corners = search.corners(of: candidate) else { return nil }
                return FinderPattern(
                    centre: Point(x: candidate.x, y: candidate.y), corners: corners,
                    isInverse: candidate.core == 0)
            }
        }
    }
}

extension Bitmap {
    /// Whether the picture has more positions like the center of a finder pattern, horizontally and vertically, than
    /// any picture of codes. zbar compares each such position with every other, which would take hours.
    var isCrowded: Bool {
        bits.withUnsafeBufferPointer { bits in
            FinderSearch(bits: bits, width: width, height: height).hasMore(than: Self.crowd)
        }
    }

    /// 99 codes have about 3,000 such positions, and noise of 64 megapixels 25,000.
    private static let crowd = 50_000
}

private struct FinderSearch {
    let bits: UnsafeBufferPointer<UInt8>
    let width: Int
    let height: Int
    var found = FinderCandidates()

    init(bits: UnsafeBufferPointer<UInt8>, width: Int, height: Int) {
        (self.bits, self.width, self.height) = (bits, width, height)
    }

    mutating func run() {
        // At least seven modules of one pixel.
        guard width >= 7 else { return }
        // The starts of the runs in a row.
        var starts = [Int](repeating: 0, count: width + 2)
        for y in 0..<height {
            let row = UnsafeBufferPointer(rebasing: bits[y * width..<(y + 1) * width])
            var count = 1
            starts.withUnsafeMutableBufferPointer { starts in
                for x in 1..<width {
                    // Without a branch: an entry that is not a start is overwritten.
                    starts[count] = x
                    count &+= Int(row[x] ^ row[x &- 1])
                }
                starts[count] = width
            }
            guard count >= 5 else { continue }
            for run in 0...count - 5 {
                let (first, core, after) = (starts[run], starts[run + 2], starts[run + 3])
                let end = starts[run + 5]
                guard
                    Self.isPattern(
                        starts[run + 1] - first, core - starts[run + 1], after - core,
                        starts[run + 4] - after, end - starts[run + 4])
                else { continue }
                consider(x: (core + after) / 2, y: y, total: end - first)
            }
        }
    }

    /// Returns whether more than `limit` runs are the core of a pattern, horizontally and vertically.
    func hasMore(than limit: Int) -> Bool {
        var count = 0
        for y in 0..<height {
            var lengths = (0, 0, 0, 0)
            let row = y * width
            var start = row
            for place in row + 1..<row + width where bits[place] != bits[place - 1] {
                let length = place - start
                let (ring, gap, core, second) = lengths
                if Self.isPattern(ring, gap, core, second, length, least: 7) {
                    // The core ends where the second gap begins.
                    let middle = start - second - (core + 1) / 2
                    if cross(
                        middle - row, y, 0, 1, core: bits[middle],
                        most: 3 * (ring + gap + core + second + length), least: 7) != nil
                    {
                        count += 1
                        if count > limit { return true }
                    }
                }
                lengths = (gap, core, second, length)
                start = place
            }
        }
        return false
    }

    /// Returns whether these lengths are nearly 1:1:3:1:1. Blur and exposure lengthen the dark ones and shorten the
    /// light ones, or the reverse.
    static func isPattern(
        _ a: Int, _ b: Int, _ c: Int, _ d: Int, _ e: Int, least: Int = 9
    ) -> Bool {
        let total = a &+ b &+ c &+ d &+ e
        guard total >= least, c &* 10 >= total &* 3, c &* 10 <= total &* 6 else { return false }
        // 0.35 to 1.75 modules.
        let (shortest, longest) = (total, total &* 5)
        return a &* 20 >= shortest && b &* 20 >= shortest && d &* 20 >= shortest
            && e &* 20 >= shortest
            && a &* 20 <= longest && b &* 20 <= longest && d &* 20 <= longest && e &* 20 <= longest
    }

    private mutating func consider(x: Int, y: Int, total: Int) {
        let core = bits[y * width + x]
        if let place = found.place(x: x, y: y, core: core) {
            found.sawAgain(place)
            return
        }
        guard let down = cross(x, y, 0, 1, core: core, most: total * 3) else { return }
        let middle = Int((Double(y) + down.offset).rounded())
        guard middle >= 0, middle < height, bits[middle * width + x] == core,
            let across = cross(x, middle, 1, 0, core: core, most: total * 2)
        else { return }
        let exact = Double(x) + across.offset
        let column = Int(exact.rounded())
        guard column >= 0, column < width, bits[middle * width + column] == core,
            cross(column, middle, 1, 1, core: core, most: total * 3) != nil
                || cross(column, middle, 1, -1, core: core, most: total * 3) != nil
        else { return }
        found.add(
            FinderCandidate(
                x: exact, y: Double(y) + down.offset, across: Double(across.total),
                down: Double(down.total), rows: 1, core: core))
    }

    /// Returns the pattern along a line through (x, y), which is in its core: its length in steps, and the distance to
    /// its middle in steps.
    private func cross(
        _ x: Int, _ y: Int, _ dx: Int, _ dy: Int, core: UInt8, most: Int, least: Int = 9
    ) -> (total: Int, offset: Double)? {
        var after = (0, 0, 0)
        var before = (0, 0, 0)
        guard arm(x, y, dx, dy, core, most, &after), arm(x, y, -dx, -dy, core, most, &before)
        else { return nil }
        let middle = after.0 + before.0 - 1
        guard Self.isPattern(before.2, before.1, middle, after.1, after.2, least: least) else {
            return nil
        }
        return (
            before.2 + before.1 + middle + after.1 + after.2,
            // The mean of the middle of the core and the middle of the pattern.
            Double(after.0 - before.0) / 4
                + Double(after.0 + after.1 + after.2 - before.0 - before.1 - before.2) / 4
        )
    }

    /// Returns the lengths, from (x, y), of the core, the gap and the ring.
    private func arm(
        _ x: Int, _ y: Int, _ dx: Int, _ dy: Int, _ core: UInt8, _ most: Int,
        _ lengths: inout (Int, Int, Int)
    ) -> Bool {
        var (x, y) = (x, y)
        func run(_ bit: UInt8) -> Int {
            var count = 0
            while x >= 0, y >= 0, x < width, y < height, bits[y &* width &+ x] == bit, count <= most
            {
                count += 1
                x += dx
                y += dy
            }
            return count
        }
        lengths.0 = run(core)
        lengths.1 = run(core ^ 1)
        lengths.2 = run(core)
        return lengths.1 > 0 && lengths.2 > 0
    }

    /// Returns the outer corners of a pattern, from the edge of its ring in all directions, or `nil` if they are not a
    /// quadrilateral.
    func corners(of candidate: FinderCandidate) -> [Point]? {
        let centre = Point(x: candidate.x, y: candidate.y)
        let limit = 1.4 * max(candidate.across, candidate.down)
        var edge: [Point] = []
        let rays = 72
        for ray in 0..<rays {
            let angle = 2 * Double.pi * Double(ray) / Double(rays)
            let direction = Point(x: cos(angle), y: sin(angle))
            if let point = edgeOfRing(from: centre, direction, candidate.core, limit) {
                edge.append(point)
            }
        }
        guard edge.count >= rays / 2 else { return nil }
        return Quadrilateral.corners(of: edge, around: centre)
    }

    private func edgeOfRing(
        from centre: Point, _ direction: Point, _ core: UInt8, _ limit: Double
    ) -> Point? {
        var wanted = core
        var changes = 0
        var distance = 0.0
        while distance < limit {
            let point = centre + direction * distance
            let (x, y) = (Int(point.x.rounded()), Int(point.y.rounded()))
            guard x >= 0, y >= 0, x < width, y < height else { return nil }
            if bits[y &* width &+ x] != wanted {
                changes += 1
                if changes == 3 { return centre + direction * (distance - 0.25) }
                wanted ^= 1
            }
            distance += 0.5
        }
        return nil
    }
}
