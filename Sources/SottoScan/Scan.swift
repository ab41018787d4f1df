public import SottoQR

extension Picture {
    /// Returns the content of each QR code in the picture, each content once, from top to bottom; empty if it has no
    /// code. Throws ``ScanError`` if memory is exhausted.
    public func codes() throws(ScanError) -> [[UInt8]] { try symbols().map(\.bytes) }

    /// Returns the QR codes in the picture, each content once, from top to bottom.
    ///
    /// Photographs are rarely read at the first attempt. The picture is tried in several variants until the symbols
    /// found so far satisfy `isEnough`, usually after the first variant with a code. If they never do, returns all that
    /// were found.
    public func symbols(
        _ search: Search = .usual, until isEnough: ([Symbol]) -> Bool = { !$0.isEmpty }
    ) throws(ScanError) -> [Symbol] {
        let scanner = try Scanner()
        var found: [Symbol] = []
        func zbar(_ raster: Raster) throws(ScanError) -> [Symbol] {
            if Bitmap(of: raster, radius: 13).isCrowded { return [] }
            let locator = Locator(raster)
            return try scanner.symbols(in: raster).map { locator.reading($0) ?? $0 }
        }
        func add(_ symbols: [Symbol], _ place: (Point) -> Point) {
            for symbol in symbols where !found.contains(where: { $0.bytes == symbol.bytes }) {
                found.append(symbol.moved(place))
            }
            found.sort { $0.top < $1.top }
        }
        for ground in [raster, onBlack].compactMap(\.self) {
            // Retries with a large photograph would take long, and its codes are large as well.
            let small = ground.reduced(to: Self.retriedPixels)
            let scale = Double(ground.width / small.width)
            for attempt in search == .quick ? Attempt.quick : Attempt.order {
                guard let form = attempt.form.applied(to: small) else { continue }
                var isUnread = false
                let symbols =
                    switch attempt.reader {
                    case .zbar: try zbar(form)
                    case .locator(let radius):
                        Locator(form).symbols(radius: radius, isUnread: &isUnread)
                    }
                add(symbols) { point in
                    let place = attempt.form.source(of: point, in: form)
                    return Point(x: place.x * scale, y: place.y * scale)
                }
                guard isEnough(found) else { continue }
                if search == .thorough || isUnread { add(try zbar(ground), \.self) }
                return found
            }
            // Searches for the small codes of a large picture.
            guard small != ground, search != .quick else { continue }
            add(try zbar(ground), \.self)
            if isEnough(found) { return found }
        }
        return found
    }

    /// The maximum number of pixels of a picture that is tried in other variants; a larger one is reduced first.
    static let retriedPixels = 4 << 20
}

/// One attempt to find codes.
struct Attempt {
    enum Reader {
        /// ``Locator`` with means over this number of pixels.
        case locator(radius: Int)
        case zbar
    }

    let form: Form
    let reader: Reader

    /// The attempts that succeed most often and take least time are first.
    static let order = [
        Attempt(form: .plain, reader: .locator(radius: 13)),
        Attempt(form: .half, reader: .locator(radius: 6)),
        Attempt(form: .blurred, reader: .locator(radius: 10)),
        Attempt(form: .half, reader: .locator(radius: 10)),
        Attempt(form: .plain, reader: .locator(radius: 10)),
        Attempt(form: .half, reader: .zbar),
        Attempt(form: .quarter, reader: .locator(radius: 20)),
        Attempt(form: .plain, reader: .zbar),
        Attempt(form: .sharpenedHalf, reader: .zbar),
        Attempt(form: .blurredHalf, reader: .locator(radius: 10)),
        Attempt(form: .blurred, reader: .zbar),
        Attempt(form: .inverted, reader: .zbar),
        Attempt(form: .double, reader: .locator(radius: 20)),
        Attempt(form: .fourfold, reader: .zbar),
        Attempt(form: .threefold, reader: .zbar),
        Attempt(form: .blurredHalf, reader: .zbar),
        Attempt(form: .quarter, reader: .zbar),
        Attempt(form: .sharpened, reader: .zbar),
        Attempt(form: .bordered, reader: .zbar),
        Attempt(form: .double, reader: .zbar),
    ]

    static let quick = Array(order.prefix(6))
}

/// A variant of a picture.
enum Form: CaseIterable {
    case plain, half, quarter, inverted, blurred, blurredHalf, sharpened, sharpenedHalf
    case double, bordered, threefold, fourfold

    /// Returns the picture in this variant, or `nil` if it would be too large.
    func applied(to raster: Raster) -> Raster? {
        switch self {
        case .plain: raster
        case .half: raster.halved()
        case .quarter: raster.halved().halved()
        case .inverted: raster.inverted()
        case .blurred: raster.blurred()
        case .blurredHalf: raster.blurred().halved()
        case .sharpened: raster.sharpened()
        case .sharpenedHalf: raster.halved().sharpened()
        case .double: fits(raster, 4) ? raster.doubled() : nil
        case .bordered: raster.magnified(by: 1)
        case .threefold: fits(raster, 9) ? raster.magnified(by: 3) : nil
        case .fourfold: fits(raster, 16) ? raster.magnified(by: 4) : nil
        }
    }

    /// Maps a point of `form`, a picture in this variant, back to the original.
    func source(of point: Point, in form: Raster) -> Point {
        switch self {
        case .plain, .inverted, .blurred, .sharpened: point
        case .half, .blurredHalf, .sharpenedHalf: Point(x: point.x * 2, y: point.y * 2)
        case .quarter: Point(x: point.x * 4, y: point.y * 4)
        case .double: Point(x: point.x / 2, y: point.y / 2)
        case .bordered: form.unmagnified(point, factor: 1)
        case .threefold: form.unmagnified(point, factor: 3)
        case .fourfold: form.unmagnified(point, factor: 4)
        }
    }

    private func fits(_ raster: Raster, _ growth: Int) -> Bool {
        raster.pixels.count * growth <= Picture.retriedPixels
    }
}

extension Raster {
    /// Returns the picture, halved until it has at most `limit` pixels.
    func reduced(to limit: Int) -> Raster {
        var raster = self
        while raster.pixels.count > limit, raster.width > 1, raster.height > 1 {
            raster = raster.halved()
        }
        return raster
    }
}
