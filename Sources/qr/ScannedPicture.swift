import SottoBytes
import SottoQR
import SottoProgram

/// An input picture with the codes found in it.
struct ScannedPicture {
    /// The file name for messages; `nil` for standard input.
    let file: String?
    private(set) var symbols: [Symbol] = []

    /// Reads a picture and has `process` search it; with `all`, for every code that it shows. With `isOneOfSeveral`,
    /// errors name the file.
    init(
        _ input: Input, file: String?, isOneOfSeveral: Bool, all: Bool, by process: ScanProcess
    ) throws(Failure) {
        self.file = file
        do throws(Failure) {
            symbols = try process.symbols(
                in: input.readAll(limit: Raster.maximumBytes), all ? .thorough : .usual)
        } catch {
            guard isOneOfSeveral, error.status == .malformed else { throw error }
            throw Failure(error.status, "\(input.name): \(error.message)", hint: error.hint)
        }
    }

    /// Searches again, in every variant of the picture, until the found codes and `parts` complete a content. `place` is
    /// the number of the picture in `process`.
    mutating func searchAgain(
        _ place: Int, parts: [CodePart], by process: ScanProcess
    ) throws(Failure) {
        symbols = try process.symbolsAgain(place, parts: parts)
    }
}

extension [ScannedPicture] {
    /// The contents of all codes in all pictures, each once.
    var contents: [[UInt8]] {
        flatMap(\.symbols).reduce(into: []) { known, symbol in
            if !known.contains(symbol.bytes) { known.append(symbol.bytes) }
        }
    }

    /// Returns the only content of the pictures, in one code or in parts, and the number of parts. The pictures are those
    /// of `process`, in the same order.
    mutating func content(by process: ScanProcess) throws(Failure) -> (bytes: [UInt8], parts: Int?)
    {
        let contents = contents
        let parts = contents.compactMap(CodePart.init(parsing:))
        if parts.isEmpty, contents.count == 1 { return (contents[0], nil) }
        guard parts.count == contents.count else {
            throw Failure(
                .malformed,
                "found \(contents.count) codes in the picture\(count > 1 ? "s" : "") instead of one",
                hint: "use --all to print each, or crop the picture to one")
        }
        do throws(CodePartsError) {
            return (try CodePart.content(of: parts), parts[0].count)
        } catch {
            guard case .missing = error else { throw Failure(error) }
            return try contentAfterSecondSearch(by: process)
        }
    }

    /// If a picture shows several codes, the variant that showed one may not show another.
    private mutating func contentAfterSecondSearch(
        by process: ScanProcess
    ) throws(Failure) -> (bytes: [UInt8], parts: Int?) {
        for place in indices {
            let others = (self[..<place] + self[(place + 1)...]).flatMap(\.symbols)
            try self[place].searchAgain(
                place, parts: others.compactMap { CodePart(parsing: $0.bytes) }, by: process)
        }
        let parts = contents.compactMap(CodePart.init(parsing:))
        do throws(CodePartsError) {
            return (try CodePart.content(of: parts), parts.first?.count)
        } catch { throw Failure(error) }
    }
}
