/// The order of a log of changes: which change is before which.
///
/// A change has a number, in the order in which the changes were added. Its parents have smaller numbers.
package struct GroupGraph: Sendable {
    /// For each change the set of its ancestors.
    private(set) var ancestors: [ChangeSet] = []
    /// For each change its parents.
    private(set) var parents: [[Int]] = []
    /// The changes that are no parent of another one, in order.
    package private(set) var heads: [Int] = []

    /// The number of changes.
    package var count: Int { ancestors.count }

    package init() {}

    /// Adds a change, and returns its number. `past` are the parents and all changes before them.
    mutating func add(parents: [Int], past: ChangeSet) -> Int {
        let number = count
        ancestors.append(past)
        self.parents.append(parents)
        for parent in parents { removeHead(parent) }
        heads.append(number)
        return number
    }

    private mutating func removeHead(_ number: Int) {
        var (low, high) = (0, heads.count)
        while low < high {
            let middle = (low + high) / 2
            if heads[middle] < number { low = middle + 1 } else { high = middle }
        }
        if low < heads.count, heads[low] == number { heads.remove(at: low) }
    }

    /// Returns some changes and those before them.
    package func past(of changes: [Int]) -> ChangeSet {
        let latest = changes.sorted(by: >)
        guard let last = latest.first else { return ChangeSet() }
        precondition(last < count)
        // The past of the last change usually has the others.
        var past = ancestors[last]
        past.insert(last)
        for change in latest.dropFirst() where !past.contains(change) {
            past.insert(change)
            past.formUnion(ancestors[change])
        }
        return past
    }

    /// Whether `a` is an ancestor of `b`.
    package func isBefore(_ a: Int, _ b: Int) -> Bool { ancestors[b].contains(a) }

    /// Returns those of some changes that are before no other of them. The changes are in order.
    package func latest(of changes: [Int]) -> [Int] {
        var covered = ChangeSet()
        var latest: [Int] = []
        for change in changes.reversed() where !covered.contains(change) {
            latest.append(change)
            covered.formUnion(ancestors[change])
        }
        return latest.reversed()
    }
}
