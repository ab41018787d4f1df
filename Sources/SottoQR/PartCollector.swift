/// Collects the codes seen in the pictures of a camera until a content is complete.
public struct PartCollector: Sendable {
    /// The result of adding a picture.
    public enum Update: Sendable, Hashable {
        /// No new code.
        case none
        /// The picture shows this number of codes that are not parts of one content. They are not used.
        case several(Int)
        /// Parts that were not seen before; those with the indices `missing` are not seen yet.
        case parts([Int], missing: [Int], of: Int)
        /// A single code.
        case code(Symbol)
        /// The last part: the complete content and the number of its parts.
        case content([UInt8], parts: Int)
    }

    /// Parts by set id; the camera may also show parts of other contents.
    private var sets: [[UInt8]: [CodePart]] = [:]

    /// Creates a collector without parts.
    public init() {}

    /// Adds the codes of a picture. Throws ``CodePartsError`` if the parts of a set contradict each other; the set is
    /// then discarded.
    public mutating func add(_ symbols: [Symbol]) throws(CodePartsError) -> Update {
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
