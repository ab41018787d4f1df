import SottoQR

// Transformations of a picture before another attempt to read it.
extension Raster {
    /// Returns the picture with half the width and height; each pixel is the mean of four.
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

    /// Returns the picture with twice the width and height, interpolated.
    func doubled() -> Raster {
        resampled(width: width * 2, height: height * 2) { x, y in
            ((x - 0.5) / 2, (y - 0.5) / 2)
        }
    }

    /// Returns the picture with dark and light swapped.
    func inverted() -> Raster {
        Raster(width: width, height: height, pixels: pixels.map { 255 - $0 })
    }

    /// Returns the picture with each pixel replaced by the mean of nine, which reduces noise.
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

    /// Returns the picture with increased local contrast, which helps if it is out of focus.
    func sharpened() -> Raster {
        let soft = blurred().blurred().blurred()
        return Raster(
            width: width, height: height,
            pixels: zip(pixels, soft.pixels).map { pixel, around in
                UInt8(clamping: Int(pixel) + 3 * (Int(pixel) - Int(around)))
            })
    }

    /// Returns the picture with each pixel enlarged by `factor` in both directions, with a white quiet zone: for codes
    /// of few pixels and codes cropped at their edge.
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

    /// The width of the white border of a magnified picture, in pixels of the original.
    private static let magnifiedBorder = 8

    /// Maps a point of a picture that was ``magnified(by:)`` back to the original.
    func unmagnified(_ point: Point, factor: Double) -> Point {
        Point(
            x: point.x / factor - Double(Self.magnifiedBorder),
            y: point.y / factor - Double(Self.magnifiedBorder))
    }

    /// Returns a picture whose pixels are sampled from this one at the points that `source` returns, interpolated
    /// between four pixels; white outside the picture.
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
