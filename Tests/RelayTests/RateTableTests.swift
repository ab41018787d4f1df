import Testing

@testable import SottoServer

/// The table of all rates.
@Suite struct RateTableTests {
    private typealias Table = RateTable<Int, TokenBucket>

    private func take(_ table: inout Table, _ key: Int, at now: Double, _ cost: Double = 1) -> Bool
    {
        let new = TokenBucket(rate: 1, capacity: 10, at: now)
        return table.update(key, at: now, initial: { $0 ?? new }) { $0.take(cost, at: now) }
    }

    @Test func aTableNeverGrowsPastItsLimit() {
        var table = Table(limit: 100)
        for key in 0..<10_000 { _ = take(&table, key, at: 0, 5) }
        #expect(table.count == 100)
        // Keys that are in the table keep their counts.
        let known = (0..<10_000).filter { table[$0] != nil }
        #expect(known.count == 100)
    }

    /// The keys of a full table share what is left: new ones do not begin with a full bucket.
    @Test func manyKeysGetNoMoreThanTheTableHas() {
        var table = Table(limit: 100)
        var admitted = 0
        for key in 0..<20_000 where take(&table, key, at: 0) { admitted += 1 }
        #expect(admitted <= 100 * 10)
        // A key that is used all the time is limited like without the others.
        var steady = Table(limit: 100)
        var own = 0
        for key in 0..<20_000 {
            _ = take(&steady, key + 1, at: 0)
            if take(&steady, 0, at: 0) { own += 1 }
        }
        #expect(own <= 1_000)
    }

    /// Time empties the table, a few entries with each use.
    @Test func timeEmptiesATable() {
        var table = Table(limit: 1_000)
        for key in 0..<1_000 { _ = take(&table, key, at: 0) }
        #expect(table.count == 1_000)
        for use in 0..<2_000 { _ = take(&table, -1, at: 100 + Double(use) / 1_000) }
        #expect(table.count == 1)
        table.remove(-1)
        #expect(table.count == 0 && table[-1] == nil)
        #expect(take(&table, 7, at: 200) && table.count == 1)
    }

    /// A network's limit holds while others come and go.
    @Test func aKnownNetworkStaysLimited() {
        let rates = NetworkRates(rate: 1, capacity: 10)
        let network: [UInt8] = [1, 2, 3, 4]
        for _ in 0..<10 { #expect(rates.admit(1, from: network, at: 0)) }
        for other in 0..<70_000 {
            _ = rates.admit(
                10, from: [9] + (0..<4).map { UInt8(truncatingIfNeeded: other >> (8 * $0)) }, at: 0)
        }
        #expect(!rates.admit(1, from: network, at: 0))
    }
}
