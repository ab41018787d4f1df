import TestSupport
import Testing

@Suite struct PreKeyRaceTests {
    /// 32 claimants and 1,000 keys, at a relay that is killed repeatedly.
    @Test func eachKeyHasOneOwnerAndARetryGetsIt() throws {
        let counts = try #require(PreKeyRace(claimants: 32, keys: 1_000, kills: 8).run())
        #expect(counts.handedOut == 1_000)
        #expect(counts.wrongOwners == 0)
        #expect(counts.retries > 1_000)
        #expect(counts.otherAnswers == 0)
        #expect(counts.endsWithoutKey)
    }
}
