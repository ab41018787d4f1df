/// A set of numbers of changes, a bit each.
package struct ChangeSet: Sendable, Hashable {
    private var words: [UInt64] = []

    package init() {}

    /// Creates a set of some numbers.
    init(_ numbers: some Sequence<Int>) { for number in numbers { insert(number) } }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    package func contains(_ number: Int) -> Bool {
        let word = number >> 6
        return word < words.count && words[word] >> UInt64(number & 63) & 1 == 1
    }

    mutating func insert(_ number: Int) {
        reserve(number >> 6 + 1)
        words[number >> 6] |= 1 << UInt64(number & 63)
    }

    mutating func formUnion(_ other: ChangeSet) {
        reserve(other.words.count)
        for index in other.words.indices { words[index] |= other.words[index] }
    }

    mutating func remove(_ number: Int) {
        if contains(number) { words[number >> 6] &= ~(1 << UInt64(number & 63)) }
    }

    mutating func subtract(_ other: ChangeSet) {
        for index in 0..<min(words.count, other.words.count) { words[index] &= ~other.words[index] }
    }

    func intersection(_ other: ChangeSet) -> ChangeSet {
        var both = ChangeSet()
        both.words = zip(words, other.words).map { $0 & $1 }
        return both
    }

    /// The highest number, or `nil`.
    var last: Int? {
        guard let index = words.lastIndex(where: { $0 != 0 }) else { return nil }
        return index << 6 + 63 - words[index].leadingZeroBitCount
    }

    /// Returns how many numbers both sets have.
    func count(in other: ChangeSet) -> Int {
        zip(words, other.words).reduce(0) { $0 + ($1.0 & $1.1).nonzeroBitCount }
    }

    /// Whether both sets have a number.
    func intersects(_ other: ChangeSet) -> Bool {
        zip(words, other.words).contains { $0 & $1 != 0 }
    }

    /// Whether another set has all numbers of this one that are lower than a number.
    func isSubset(of other: ChangeSet, below number: Int) -> Bool {
        for index in 0..<min(words.count, (number + 63) >> 6) {
            var word = words[index]
            if index == number >> 6 { word &= 1 << UInt64(number & 63) - 1 }
            if index < other.words.count { word &= ~other.words[index] }
            if word != 0 { return false }
        }
        return true
    }

    /// Removes the numbers that another set lacks, except one, and passes them to `body`.
    mutating func remove(notIn other: ChangeSet, except kept: Int, _ body: (Int) -> Void) {
        for index in words.indices where words[index] != 0 {
            var keep = index < other.words.count ? other.words[index] : 0
            if index == kept >> 6 { keep |= 1 << UInt64(kept & 63) }
            var removed = words[index] & ~keep
            words[index] &= keep
            while removed != 0 {
                body(index << 6 + removed.trailingZeroBitCount)
                removed &= removed - 1
            }
        }
    }

    private mutating func reserve(_ count: Int) {
        if words.count < count {
            words.append(contentsOf: repeatElement(0, count: count - words.count))
        }
    }
}
