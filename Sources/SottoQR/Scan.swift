extension Picture {
    /// The content of each QR code in the picture, each content once, from the top down; empty when
    /// there is none. Throws ``ScanError`` when memory runs out.
    public func codes() throws(ScanError) -> [[UInt8]] { try symbols().map(\.bytes) }

    /// The QR codes in the picture, each content once, from the top down.
    ///
    /// Photographs are rarely read at once, so the picture is tried in several forms until what was found
    /// in them together `isEnough`: usually, in the first form that shows any code. Where it never is, the
    /// answer is all that was found.
    public func symbols(
        until isEnough: ([Symbol]) -> Bool = { !$0.isEmpty }
    ) throws(ScanError) -> [Symbol] {
        let scanner = try Scanner()
        var found: [Symbol] = []
        func isDone(in form: Raster, _ place: (Point) -> Point) throws(ScanError) -> Bool {
            for symbol in try scanner.symbols(in: form)
            where !found.contains(where: { $0.bytes == symbol.bytes }) {
                found.append(symbol.moved(place))
            }
            found.sort { $0.top < $1.top }
            return isEnough(found)
        }
        for ground in [raster, onBlack].compactMap(\.self) {
            if try isDone(in: ground, { $0 }) { return found }
        }
        for ground in [raster, onBlack].compactMap(\.self) {
            // Retries of a large photograph would take long, and a code in it is large as well.
            let small = ground.reduced(to: Self.retriedPixels)
            let scale = Double(ground.width / small.width)
            for attempt in Attempt.allCases where attempt != .plain || small != ground {
                guard let form = attempt.form(of: small) else { continue }
                let isEnd = try isDone(in: form) { point in
                    let place = attempt.source(of: point, in: form, of: small)
                    return Point(x: place.x * scale, y: place.y * scale)
                }
                if isEnd { return found }
            }
        }
        return found
    }

    /// The most pixels of a picture that is tried in other forms; a larger one is reduced first.
    static let retriedPixels = 4 << 20
}

/// A form in which to try a picture, in the order of what helps most often.
enum Attempt: CaseIterable {
    case half, inverted, blurredHalf, fourfold, plain, blurred, sharpenedHalf, quarter
    case sharpened, threefold, bordered, double, turned15, turned30, turned45

    /// The picture in this form; `nil` when that would be too large.
    func form(of raster: Raster) -> Raster? {
        switch self {
        case .half: raster.halved()
        case .inverted: raster.inverted()
        case .blurredHalf: raster.blurred().halved()
        case .fourfold: fits(raster, 16) ? raster.magnified(by: 4) : nil
        case .plain: raster
        case .blurred: raster.blurred()
        case .sharpenedHalf: raster.halved().sharpened()
        case .quarter: raster.halved().halved()
        case .sharpened: raster.sharpened()
        case .threefold: fits(raster, 9) ? raster.magnified(by: 3) : nil
        case .bordered: raster.magnified(by: 1)
        case .double: fits(raster, 4) ? raster.doubled() : nil
        case .turned15: raster.rotated(degrees: 15, limit: 2 * Picture.retriedPixels)
        case .turned30: raster.rotated(degrees: 30, limit: 2 * Picture.retriedPixels)
        case .turned45: raster.rotated(degrees: 45, limit: 2 * Picture.retriedPixels)
        }
    }

    /// Where a point of `form` is in `raster`, of which it is this form.
    func source(of point: Point, in form: Raster, of raster: Raster) -> Point {
        switch self {
        case .plain, .inverted, .blurred, .sharpened: point
        case .half, .blurredHalf, .sharpenedHalf: Point(x: point.x * 2, y: point.y * 2)
        case .quarter: Point(x: point.x * 4, y: point.y * 4)
        case .double: Point(x: point.x / 2, y: point.y / 2)
        case .fourfold: form.unmagnified(point, factor: 4)
        case .threefold: form.unmagnified(point, factor: 3)
        case .bordered: form.unmagnified(point, factor: 1)
        case .turned15: form.unrotated(point, degrees: 15, to: raster)
        case .turned30: form.unrotated(point, degrees: 30, to: raster)
        case .turned45: form.unrotated(point, degrees: 45, to: raster)
        }
    }

    private func fits(_ raster: Raster, _ growth: Int) -> Bool {
        raster.pixels.count * growth <= Picture.retriedPixels
    }
}

extension Raster {
    /// The picture, halved until it has at most `limit` pixels.
    func reduced(to limit: Int) -> Raster {
        var raster = self
        while raster.pixels.count > limit, raster.width > 1, raster.height > 1 {
            raster = raster.halved()
        }
        return raster
    }
}
