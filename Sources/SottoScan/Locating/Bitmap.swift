import SottoQR

/// The pixels of a picture that are darker than their surroundings, to compensate for uneven light.
struct Bitmap {
    let width: Int
    let height: Int
    /// One byte per pixel, row by row from the top: 1 dark, 0 light.
    let bits: [UInt8]

    /// Compares each pixel of `raster` with the mean of the pixels at most `radius` rows and columns away.
    init(of raster: Raster, radius: Int) {
        let (width, height) = (raster.width, raster.height)
        (self.width, self.height) = (width, height)
        bits = [UInt8](unsafeUninitializedCapacity: width * height) { bits, count in
            raster.pixels.withUnsafeBufferPointer { pixels in
                // The sums of the columns over the rows around the current one.
                var sums = [Int32](repeating: 0, count: width)
                sums.withUnsafeMutableBufferPointer { sums in
                    for y in 0..<min(radius, height) {
                        for x in 0..<width { sums[x] &+= Int32(pixels[y &* width &+ x]) }
                    }
                    for y in 0..<height {
                        if y &+ radius < height {
                            let row = (y &+ radius) &* width
                            for x in 0..<width { sums[x] &+= Int32(pixels[row &+ x]) }
                        }
                        if y > radius {
                            let row = (y &- radius &- 1) &* width
                            for x in 0..<width { sums[x] &-= Int32(pixels[row &+ x]) }
                        }
                        let rows = min(y + radius, height - 1) - max(y - radius, 0) + 1
                        Self.compare(
                            UnsafeBufferPointer(rebasing: pixels[y * width..<(y + 1) * width]),
                            with: sums, rows: Int32(rows), radius: radius,
                            into: UnsafeMutableBufferPointer(
                                rebasing: bits[y * width..<(y + 1) * width]))
                    }
                }
            }
            count = width * height
        }
    }

    /// Compares one row. `sums` are of `rows` pixels each.
    private static func compare(
        _ row: UnsafeBufferPointer<UInt8>, with sums: UnsafeMutableBufferPointer<Int32>,
        rows: Int32,
        radius: Int, into bits: UnsafeMutableBufferPointer<UInt8>
    ) {
        let width = row.count
        var sum: Int32 = 0
        for x in 0..<min(radius, width) { sum &+= sums[x] }
        for x in 0..<width {
            if x &+ radius < width { sum &+= sums[x &+ radius] }
            if x > radius { sum &-= sums[x &- radius &- 1] }
            let columns = Int32(min(x &+ radius, width &- 1) &- max(x &- radius, 0) &+ 1)
            // A slightly darker pixel is noise of a uniform background.
            bits[x] = (Int32(row[x]) &+ 2) &* (rows &* columns) < sum ? 1 : 0
        }
    }
}
