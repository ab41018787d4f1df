/// The order of a log of changes: which change is before which.
///
/// A change has a number, in the order in which the changes were added. Its parents have smaller numbers.
package struct GroupGraph: Sendable {
    private static let bits = UInt64.bitWidth

    /// For each change the set of its ancestors, a bit each.
    private var ancestors: [[UInt64]] = []
    /// For each change its parents.
    private(set) var parents: [[Int]] = []
    /// The changes that are no parent of another one, in order.
    package private(set) var heads: [Int] = []

    /// The number of changes.
    package var count: Int { ancestors.count }

    package init() {}

    /// Adds a change, and returns its number.
    @discardableResult
    package mutating func add(parents: [Int]) -> Int {
        let number = count
        var row = [UInt64](repeating: 0, count: (number + Self.bits - 1) / Self.bits)
        for parent in parents {
            precondition(parent < number)
            for (index, word) in ancestors[parent].enumerated() { row[index] |= word }
            row[parent / Self.bits] |= 1 << (parent % Self.bits)
        }
        ancestors.append(row)
        self.parents.append(parents)
        heads.removeAll { parents.contains($0) }
        heads.append(number)
        return number
    }

    /// Whether `a` is an ancestor of `b`.
    package func isBefore(_ a: Int, _ b: Int) -> Bool {
        a < b && ancestors[b][a / Self.bits] >> (a % Self.bits) & 1 == 1
    }

    /// Returns those of some changes that are before no other of them. The changes are in order.
    package func latest(of changes: [Int]) -> [Int] {
        var covered = [UInt64](repeating: 0, count: (count + Self.bits - 1) / Self.bits)
        var latest: [Int] = []
        for change in changes.reversed()
        where covered[change / Self.bits] >> (change % Self.bits) & 1 == 0 {
            latest.append(change)
            for (index, word) in ancestors[change].enumerated() { covered[index] |= word }
        }
        return latest.reversed()
    }
}
