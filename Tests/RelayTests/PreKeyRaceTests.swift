import RelayHarness
import Testing

@Suite struct PreKeyRaceTests {
    /// 32 claimants and 1,000 keys, at a relay that is killed repeatedly.
    @Test func eachKeyHasOneOwnerAndARetryGetsIt() throws {
        let figures = try #require(PreKeyRace(claimants: 32, keys: 1_000, kills: 8).run())
        #expect(figures.handedOut == 1_000)
        #expect(figures.wrongOwners == 0)
        #expect(figures.retries > 1_000)
        #expect(figures.otherAnswers == 0)
        #expect(figures.endsWithoutKey)
    }
}
