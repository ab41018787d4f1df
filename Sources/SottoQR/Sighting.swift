/// What was seen in the pictures of a camera so far, until it is one content.
public struct Sighting: Sendable {
    /// What one more picture brings.
    public enum News: Sendable, Hashable {
        /// Nothing that was not seen before.
        case none
        /// So many codes that are not parts of one content; none of them counts.
        case several(Int)
        /// Parts that were not seen before; those with the indices `missing` are still to come.
        case parts([Int], missing: [Int], of: Int)
        /// A code, by itself.
        case code(Symbol)
        /// The last part: the whole content, and the number of its parts.
        case content([UInt8], parts: Int)
    }

    /// Parts by their set; a camera may pass over parts of something else.
    private var sets: [[UInt8]: [CodePart]] = [:]

    /// Nothing so far.
    public init() {}

    /// Takes the codes of a picture. Throws ``CodePartsError`` when the parts of a set do not fit together; the
    /// set is then forgotten.
    public mutating func add(_ symbols: [Symbol]) throws(CodePartsError) -> News {
        guard let first = symbols.first else { return .none }
        let parts = symbols.compactMap { CodePart(parsing: $0.bytes) }
        guard let set = parts.first?.set else {
            return symbols.count == 1 ? .code(first) : .several(symbols.count)
        }
        guard parts.count == symbols.count, parts.allSatisfy({ $0.set == set }) else {
            return .several(symbols.count)
        }
        let known = sets[set] ?? []
        let new = parts.filter { !known.contains($0) }
        sets[set] = known + new
        do throws(CodePartsError) {
            return .content(try CodePart.content(of: known + new), parts: parts[0].count)
        } catch {
            guard case .missing(let missing, let count) = error else {
                sets[set] = nil
                throw error
            }
            guard !new.isEmpty else { return .none }
            return .parts(new.map(\.index).sorted(), missing: missing, of: count)
        }
    }
}
