// What a picture is put through before another attempt to read it.
extension Raster {
    /// Half the width and height: each pixel the mean of four.
    func halved() -> Raster {
        guard width > 1, height > 1 else { return self }
        return pixels.withUnsafeBufferPointer { pixels in
            Raster(width: width / 2, height: height / 2) { x, y in
                let corner = 2 * y * width + 2 * x
                let sum =
                    UInt16(pixels[corner]) + UInt16(pixels[corner + 1])
                    + UInt16(pixels[corner + width]) + UInt16(pixels[corner + width + 1])
                return UInt8((sum + 2) / 4)
            }
        }
    }

    /// Twice the width and height, smoothed between pixels.
    func doubled() -> Raster {
        resampled(width: width * 2, height: height * 2) { x, y in
            ((x - 0.5) / 2, (y - 0.5) / 2)
        }
    }

    /// Dark for light and light for dark.
    func inverted() -> Raster {
        Raster(width: width, height: height, pixels: pixels.map { 255 - $0 })
    }

    /// Each pixel the mean of the nine around it, which takes away noise.
    func blurred() -> Raster {
        pixels.withUnsafeBufferPointer { pixels in
            Raster(width: width, height: height) { x, y in
                let above = max(y - 1, 0) * width
                let here = y * width
                let below = min(y + 1, height - 1) * width
                let left = max(x - 1, 0)
                let right = min(x + 1, width - 1)
                var sum: UInt16 = 4
                for row in [above, here, below] {
                    sum += UInt16(pixels[row + left]) + UInt16(pixels[row + x])
                    sum += UInt16(pixels[row + right])
                }
                return UInt8(sum / 9)
            }
        }
    }

    /// What differs from the pixels around it differs more, which helps a picture out of focus.
    func sharpened() -> Raster {
        let soft = blurred().blurred().blurred()
        return Raster(
            width: width, height: height,
            pixels: zip(pixels, soft.pixels).map { pixel, around in
                UInt8(clamping: Int(pixel) + 3 * (Int(pixel) - Int(around)))
            })
    }

    /// Each pixel `factor` times as wide and high, on a white ground with a quiet zone all around: for
    /// codes of few pixels, and those cut out at their edge.
    func magnified(by factor: Int) -> Raster {
        let border = Self.magnifiedBorder * factor
        return pixels.withUnsafeBufferPointer { pixels in
            Raster(
                width: width * factor + 2 * border, height: height * factor + 2 * border
            ) { x, y in
                let (x, y) = (x - border, y - border)
                guard x >= 0, y >= 0, x < width * factor, y < height * factor else { return 255 }
                return pixels[y / factor * width + x / factor]
            }
        }
    }

    /// The ground around a magnified picture, in pixels of the picture.
    private static let magnifiedBorder = 8

    /// Where a point of this picture, which was ``magnified(by:)``, was before.
    func unmagnified(_ point: Point, factor: Double) -> Point {
        Point(
            x: point.x / factor - Double(Self.magnifiedBorder),
            y: point.y / factor - Double(Self.magnifiedBorder))
    }

    /// A picture whose pixel at a place is what this one has at the place that `source` tells, between
    /// four pixels their weighted mean, outside of the picture white.
    func resampled(
        width newWidth: Int, height newHeight: Int,
        from source: (_ x: Double, _ y: Double) -> (x: Double, y: Double)
    ) -> Raster {
        pixels.withUnsafeBufferPointer { pixels in
            Raster(width: newWidth, height: newHeight) { x, y in
                let (x, y) = source(Double(x), Double(y))
                guard x > -1, y > -1, x < Double(width), y < Double(height) else { return 255 }
                let (left, top) = (x.rounded(.down), y.rounded(.down))
                let (alongX, alongY) = (x - left, y - top)
                let (x0, y0) = (max(Int(left), 0), max(Int(top), 0))
                let (x1, y1) = (min(Int(left) + 1, width - 1), min(Int(top) + 1, height - 1))
                let upper =
                    Double(pixels[y0 * width + x0]) * (1 - alongX)
                    + Double(pixels[y0 * width + x1]) * alongX
                let lower =
                    Double(pixels[y1 * width + x0]) * (1 - alongX)
                    + Double(pixels[y1 * width + x1]) * alongX
                return UInt8(upper * (1 - alongY) + lower * alongY + 0.5)
            }
        }
    }
}
