import Foundation
import Sotto
import Testing

struct TimestampTests {
    @Test func daysFrom1970To2100RoundTripAndAgreeWithFoundation() {
        let format = ISO8601DateFormatter()
        for day in stride(from: 0, through: 47_847, by: 13) {
            let seconds = Int64(day) * 86_400 + Int64(day * 7919 % 86_400)
            let text = Timestamp(seconds: seconds).description
            #expect(text == format.string(from: Date(timeIntervalSince1970: Double(seconds))))
            #expect(Timestamp(text)?.seconds == seconds)
        }
    }

    @Test func leapDaysExistOnlyInLeapYears() {
        #expect(Timestamp("2024-02-29T00:00:00Z") != nil)
        #expect(Timestamp("2000-02-29T23:59:59Z") != nil)
        #expect(Timestamp("2023-02-29T00:00:00Z") == nil)
        #expect(Timestamp("2100-02-29T00:00:00Z") == nil)
    }

    @Test func aFractionIsDropped() {
        #expect(Timestamp("2026-11-21T09:30:00.999Z") == Timestamp("2026-11-21T09:30:00Z"))
    }

    @Test(arguments: [
        "2026-11-21T10:30:00+01:00", "2026-11-21T09:30:00+00:00", "2026-11-21T09:30:00-00:00",
        "2026-11-20T21:30:00.25-12:00", "2026-11-21T23:29:00+13:59", "2026-11-21t09:30:00z",
    ])
    func aTimeWithAnOffsetIsTheSameTime(_ text: String) {
        #expect(Timestamp(text) == Timestamp("2026-11-21T09:30:00Z"))
    }

    @Test func aLeapSecondIsTheSecondAfterIt() {
        #expect(Timestamp("2016-12-31T23:59:60Z") == Timestamp("2017-01-01T00:00:00Z"))
        #expect(Timestamp("2017-01-01T00:59:60+01:00") == Timestamp("2017-01-01T00:00:00Z"))
    }

    @Test(arguments: [
        "2026-02-31T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+0000",
        "2026-01-01T00:00:00+00", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60",
        "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-01-01T23:59:60+01:00",
        "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00,5Z",
        "26-01-01T00:00:00Z", "2026-1-01T00:00:00Z", "+2026-01-01T00:00:00Z", "", "Z", "now",
        "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00ZZ",
        "2026-01-01T-1:00:00Z", "２026-01-01T00:00:00Z",
    ])
    func anotherFormIsRefused(_ text: String) {
        #expect(Timestamp(text) == nil)
    }
}
