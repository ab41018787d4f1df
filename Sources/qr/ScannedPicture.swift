import SottoQR
import SottoTool

/// An input picture with the codes found in it.
struct ScannedPicture {
    /// The file name for messages; `nil` for standard input.
    let file: String?
    /// The content of the picture's file.
    private let bytes: [UInt8]
    private(set) var symbols: [Symbol] = []

    /// Reads and searches a picture; with `all`, for every code that it shows. With `isOneOfSeveral`, errors name the
    /// file.
    init(_ input: Input, file: String?, isOneOfSeveral: Bool, all: Bool) throws(Failure) {
        self.file = file
        do throws(Failure) {
            bytes = try input.readAll(limit: Picture.maximumBytes)
            symbols = try Self.symbols(in: bytes, all ? .thorough : .usual) { !$0.isEmpty }
        } catch {
            guard isOneOfSeveral, error.status == .malformed else { throw error }
            throw Failure(error.status, "\(input.name): \(error.message)", hint: error.hint)
        }
    }

    /// Searches again, in every variant of the picture, until the found symbols satisfy `isEnough`.
    mutating func searchAgain(until isEnough: ([Symbol]) -> Bool) throws(Failure) {
        symbols = try Self.symbols(in: bytes, .thorough, until: isEnough)
    }

    private static func symbols(
        in bytes: [UInt8], _ search: Search, until isEnough: ([Symbol]) -> Bool
    ) throws(Failure) -> [Symbol] {
        let picture: Picture
        do throws(PictureError) {
            picture = try Picture(decoding: bytes)
        } catch { throw Failure(error) }
        do throws(ScanError) {
            return try picture.symbols(search, until: isEnough)
        } catch { throw Failure(error) }
    }
}

extension [ScannedPicture] {
    /// The contents of all codes in all pictures, each once.
    var contents: [[UInt8]] {
        flatMap(\.symbols).reduce(into: []) { known, symbol in
            if !known.contains(symbol.bytes) { known.append(symbol.bytes) }
        }
    }

    /// Returns the only content of the pictures, in one code or in parts, and the number of parts.
    mutating func content() throws(Failure) -> (bytes: [UInt8], parts: Int?) {
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
            return try contentAfterSecondSearch()
        }
    }

    /// If a picture shows several codes, the variant that showed one may not show another.
    private mutating func contentAfterSecondSearch() throws(Failure) -> (
        bytes: [UInt8], parts: Int?
    ) {
        for place in indices {
            let others = (self[..<place] + self[(place + 1)...]).flatMap(\.symbols)
            try self[place].searchAgain { symbols in
                let parts = (others + symbols).compactMap { CodePart(parsing: $0.bytes) }
                return (try? CodePart.content(of: parts)) != nil
            }
        }
        let parts = contents.compactMap(CodePart.init(parsing:))
        do throws(CodePartsError) {
            return (try CodePart.content(of: parts), parts.first?.count)
        } catch { throw Failure(error) }
    }
}
