import Glibc
import SottoQR
import SottoScan

/// Searches the pictures of requests. It keeps their files for a second search.
struct Answerer {
    private var files: [[UInt8]] = []

    /// Returns the codes that answer `request`, whose bytes are read from `input`.
    mutating func symbols(
        for request: ScanRequest, from input: inout RequestReader
    ) throws(ScanFault) -> [Symbol] {
        switch request {
        case .picture(let length, let search):
            files.append(bytes(length, from: &input))
            return try Self.symbols(in: files[files.count - 1], search) { !$0.isEmpty }
        case .again(let place, let parts):
            guard files.indices ~= place else { _exit(64) }
            let known = parts.compactMap(CodePart.init(parsing:))
            return try Self.symbols(in: files[place], .thorough) { symbols in
                let parts = known + symbols.compactMap { CodePart(parsing: $0.bytes) }
                return !parts.isEmpty && (try? CodePart.content(of: parts)) != nil
            }
        }
    }

    private func bytes(_ count: Int, from input: inout RequestReader) -> [UInt8] {
        guard 0...Raster.maximumBytes ~= count, let bytes = input.bytes(count) else { _exit(64) }
        return bytes
    }

    private static func symbols(
        in file: [UInt8], _ search: Search, until isEnough: ([Symbol]) -> Bool
    ) throws(ScanFault) -> [Symbol] {
        let picture: Picture
        do throws(PictureError) {
            picture = try Picture(decoding: file)
        } catch { throw .picture(error) }
        do throws(ScanError) {
            return try picture.symbols(search, until: isEnough)
        } catch { throw .search(error) }
    }
}
