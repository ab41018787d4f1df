import SottoQR
import SottoTool

/// A picture that was given, and the codes that were found in it.
struct Sheet {
    /// What people call it; `nil` for standard input.
    let file: String?
    /// The picture's file.
    private let bytes: [UInt8]
    private(set) var symbols: [Symbol] = []

    /// Reads and searches a picture, for `all` codes that it shows. `isOneOfSeveral`, so that an error must tell
    /// which it is about.
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

    /// Searches once more, in every form of the picture, until what was found in it `isEnough`.
    mutating func searchLonger(until isEnough: ([Symbol]) -> Bool) throws(Failure) {
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

extension [Sheet] {
    /// What the codes of all pictures hold, each once.
    var contents: [[UInt8]] {
        flatMap(\.symbols).reduce(into: []) { known, symbol in
            if !known.contains(symbol.bytes) { known.append(symbol.bytes) }
        }
    }

    /// The one content that the pictures show, in one code or in parts, and the number of parts.
    mutating func content() throws(Failure) -> (bytes: [UInt8], parts: Int?) {
        let contents = contents
        let parts = contents.compactMap(CodePart.init(parsing:))
        if parts.isEmpty, contents.count == 1 { return (contents[0], nil) }
        guard parts.count == contents.count else {
            throw Failure(
                .malformed, "\(contents.count) codes in the picture\(count > 1 ? "s" : "")",
                hint: "--all prints each, or cut the picture to one")
        }
        do throws(CodePartsError) {
            return (try CodePart.content(of: parts), parts[0].count)
        } catch {
            guard case .missing = error else { throw Failure(error) }
            return try contentAfterLongerSearch()
        }
    }

    /// Where a picture shows several codes, the form that showed one may hide another.
    private mutating func contentAfterLongerSearch() throws(Failure) -> (
        bytes: [UInt8], parts: Int?
    ) {
        for place in indices {
            let others = (self[..<place] + self[(place + 1)...]).flatMap(\.symbols)
            try self[place].searchLonger { symbols in
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
