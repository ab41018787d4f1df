extension Picture {
    /// The content of each QR code in the picture, each content once, from the top down; empty when
    /// there is none. Throws ``ScanError`` when memory runs out.
    ///
    /// Photographs are rarely read at once, so the picture is tried in several forms, and the first form
    /// that shows any code is the answer.
    public func codes() throws(ScanError) -> [[UInt8]] {
        let scanner = try Scanner()
        for ground in [raster, onBlack].compactMap(\.self) {
            let codes = try scanner.codes(in: ground)
            if !codes.isEmpty { return codes }
        }
        for ground in [raster, onBlack].compactMap(\.self) {
            // Retries of a large photograph would take long, and a code in it is large as well.
            let small = ground.reduced(to: Self.retriedPixels)
            for attempt in Attempt.allCases where attempt != .plain || small != ground {
                guard let form = attempt.form(of: small) else { continue }
                let codes = try scanner.codes(in: form)
                if !codes.isEmpty { return codes }
            }
        }
        return []
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
