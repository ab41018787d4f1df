import RelayHarness
import Testing

@Suite struct PreKeyRaceTests {
    /// Thirty-two claimants and a thousand keys, in a relay that is killed again and again.
    @Test func eachKeyHasOneOwnerAndARetryGetsIt() throws {
        let figures = try #require(PreKeyRace(claimants: 32, keys: 1_000, kills: 8).run())
        #expect(figures.handedOut == 1_000)
        #expect(figures.wrongOwners == 0)
        #expect(figures.retries > 1_000)
        #expect(figures.otherAnswers == 0)
        #expect(figures.endsWithoutKey)
    }
}
