import CZBar
import SottoQR

/// zbar, configured to find only QR codes and to return their bytes unchanged.
///
/// Not thread-safe.
final class Scanner {
    private let scanner: OpaquePointer

    init() throws(ScanError) {
        guard let scanner = zbar_image_scanner_create() else { throw .outOfMemory }
        self.scanner = scanner
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
        // Otherwise zbar interprets bytes from 0x80 as text in a guessed encoding and changes them.
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_BINARY, 1)
        // The content may be secret.
        zbar_image_scanner_request_dbus(scanner, 0)
    }

    deinit { zbar_image_scanner_destroy(scanner) }

    /// Returns the codes in `raster`, each content once, from top to bottom.
    ///
    /// `density` is the distance of the rows and columns that zbar searches for finder patterns. More than one is
    /// faster, and sufficient for a drawing with several pixels per module.
    func symbols(in raster: Raster, density: Int32 = 1) throws(ScanError) -> [Symbol] {
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_X_DENSITY, density)
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_Y_DENSITY, density)
        guard let image = zbar_image_create() else { throw .outOfMemory }
        defer { zbar_image_destroy(image) }
        // "Y800": one byte of grey per pixel.
        zbar_image_set_format(image, 0x3030_3859)
        zbar_image_set_size(image, UInt32(raster.width), UInt32(raster.height))
        return raster.pixels.withUnsafeBytes { pixels in
            zbar_image_set_data(image, pixels.baseAddress, UInt(pixels.count), nil)
            guard zbar_scan_image(scanner, image) > 0 else { return [] }
            var found: [Symbol] = []
            var symbol = zbar_image_first_symbol(image)
            while let current = symbol {
                // A part of structured append has another type.
                if zbar_symbol_get_type(current) == ZBAR_QRCODE {
                    let bytes = Self.content(of: current)
                    if !found.contains(where: { $0.bytes == bytes }) {
                        found.append(Symbol(bytes: bytes, polygon: Self.polygon(of: current)))
                    }
                }
                symbol = zbar_symbol_next(current)
            }
            return found.sorted { $0.top < $1.top }
        }
    }

    private static func content(of symbol: OpaquePointer) -> [UInt8] {
        let count = Int(zbar_symbol_get_data_length(symbol))
        guard let data = zbar_symbol_get_data(symbol) else { return [] }
        return Array(UnsafeRawBufferPointer(start: data, count: count))
    }

    private static func polygon(of symbol: OpaquePointer) -> [Point] {
        (0..<zbar_symbol_get_loc_size(symbol)).map { corner in
            Point(
                x: Double(zbar_symbol_get_loc_x(symbol, corner)),
                y: Double(zbar_symbol_get_loc_y(symbol, corner)))
        }
    }
}
