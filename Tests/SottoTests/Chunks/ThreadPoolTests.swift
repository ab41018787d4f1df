import Glibc
import Synchronization
import Testing

@testable import Sotto

struct ThreadPoolTests {
    private struct Stop: Error {}

    @Test(arguments: [0, 1, 7, 8, 9, 1_000], [0, 1, 3])
    func resultsHaveTheOrderOfTheList(_ count: Int, _ threads: Int) throws {
        var begun: [Int] = []
        var ended: [Int] = []
        try ThreadPool(threads: threads).inOrder(
            count, slice: 8,
            begin: { slice in
                begun += slice
                return Array(slice)
            }, make: { $0.map { $0 * 2 } }, end: { ended += $0 })
        #expect(begun == Array(0..<count))
        #expect(ended == (0..<count).map { $0 * 2 })
        let doubled = ThreadPool(threads: threads).started(begun, slice: 8) { $0.map { $0 * 2 } }
        #expect(doubled.results() == ended)
        #expect(ThreadPool(threads: threads).started { count }.result() == count)
    }

    /// The slices before an error are ended, and no later one is.
    @Test func anErrorStopsTheWork() {
        let made = Mutex(0)
        let pool = ThreadPool(threads: 2)
        var ended: [Int] = []
        #expect(throws: Stop.self) {
            try pool.inOrder(
                1_000, slice: 8, begin: { $0.lowerBound },
                make: { start in
                    made.withLock { $0 += 1 }
                    return start
                },
                end: { start in
                    if start == 80 { throw Stop() }
                    ended.append(start)
                })
        }
        #expect(ended == (0..<10).map { $0 * 8 })
        #expect(made.withLock { $0 } < 30)
        #expect(throws: Stop.self) {
            try pool.inOrder(
                1_000, slice: 8,
                begin: { slice in if slice.lowerBound == 80 { throw Stop() } },
                make: { $0 }, end: { _ in })
        }
    }

    @Test func aListOfOneSliceStaysOnItsThread() throws {
        let caller = pthread_self()
        let isSame = Mutex(false)
        try ThreadPool(threads: 2).inOrder(
            8, slice: 8, begin: { _ in },
            make: { isSame.withLock { $0 = pthread_equal(pthread_self(), caller) != 0 } },
            end: {})
        #expect(isSame.withLock { $0 })
    }
}
