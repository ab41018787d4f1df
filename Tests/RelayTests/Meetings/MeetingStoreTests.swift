import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The places of meetings in a store.
@Suite struct MeetingStoreTests {
    let place = StoreFixture()
    static let name = "relay.example:1"

    private func change(
        _ number: Int64, _ act: MeetingChange.Act, at second: Int64 = 1_000,
        name: String = MeetingStoreTests.name
    ) -> Change {
        .meeting(MeetingChange(number: number, relay: name, act: act, second: second))
    }

    private func outcomes(_ store: any Store, _ changes: Change...) throws -> [MeetingOutcome?] {
        try store.commit(changes, at: 16).map {
            if case .meeting(let outcome, _) = $0 { outcome } else { nil }
        }
    }

    @Test(arguments: StoreKind.available) func eachStepIsStoredOnceAndInOrder(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        #expect(try store.meeting(417, step: 1, at: 1_000) == nil)
        #expect(
            try outcomes(
                store, change(417, .open(until: 1_600)), change(417, .open(until: 1_600)),
                change(417, .put(step: 2, [2])), change(417, .put(step: 1, [1])),
                change(417, .put(step: 1, [1])), change(417, .put(step: 1, [7])),
                change(417, .put(step: 2, [2])))
                == [.opened, .taken, .conflict, .stored, .stored, .conflict, .stored])
        let kept = try #require(try store.meeting(417, step: 2, at: 1_599))
        #expect(kept.relay == Self.name && !kept.isOver && kept.message == [2])
        #expect(try store.meeting(417, step: 3, at: 1_599)?.message == nil)
        #expect(kept.response(Self.name) == .meetingMessage([2]))
        #expect(kept.response("other:1") == .error(Refusal(.otherName)))
        #expect(
            try outcomes(
                store, change(417, .put(step: 3, [3]), name: "other:1"),
                change(418, .put(step: 1, [1])), change(418, .end)) == [
                    .otherName, .unknown, .unknown,
                ])
        try store.close()
    }

    @Test(arguments: StoreKind.available) func aMeetingThatEndedKeepsItsNumberAndNoMessage(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        #expect(
            try outcomes(
                store, change(500, .open(until: 1_600)), change(500, .put(step: 1, [1])),
                change(500, .end), change(500, .end), change(500, .put(step: 1, [1])),
                change(500, .open(until: 1_700))) == [
                    .opened, .stored, .ended, .over, .over, .taken,
                ])
        let kept = try #require(try store.meeting(500, step: 1, at: 1_100))
        #expect(kept.isOver && kept.message == nil)
        #expect(kept.response(Self.name) == .error(Refusal(.meetingOver)))
        try store.close()
    }

    @Test(arguments: StoreKind.available) func aPlaceExpires(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        #expect(
            try outcomes(store, change(600, .open(until: 1_600)), change(600, .put(step: 1, [1])))
                == [.opened, .stored])
        #expect(try store.meeting(600, step: 1, at: 1_600) == nil)
        #expect(try outcomes(store, change(600, .put(step: 2, [2]), at: 1_600)) == [.unknown])
        // Another meeting gets the number before the sweep.
        #expect(try outcomes(store, change(600, .open(until: 2_200), at: 1_600)) == [.opened])
        while try store.sweep(at: 30, second: 1_700, latest: 30, strangers: false) {}
        #expect(try store.meeting(600, step: 1, at: 1_700)?.message == nil)
        while try store.sweep(at: 40, second: 2_200, latest: 40, strangers: false) {}
        #expect(try outcomes(store, change(600, .open(until: 2_800), at: 1_700)) == [.opened])
        try store.close()
    }

    /// Two relays on one database share the places.
    @Test(.needs(.postgres)) func aPlaceIsInTheStore() throws {
        let (one, other) = (try place.open(.postgres), try place.open(.postgres))
        #expect(try outcomes(one, change(700, .open(until: 1_600))) == [.opened])
        #expect(
            try outcomes(other, change(700, .open(until: 1_600)), change(700, .put(step: 1, [1])))
                == [.taken, .stored])
        #expect(try one.meeting(700, step: 1, at: 1_000)?.message == [1])
        #expect(try outcomes(one, change(700, .end)) == [.ended])
        #expect(try other.meeting(700, step: 1, at: 1_000)?.isOver == true)
        for store in [one, other] { try store.close() }
    }

    @Test func theNumberOfPlacesIsLimited() throws {
        let store = try place.open(.sqlite)
        let made = try store.commit(
            (0...MeetingChange.places).map { change(1_000 + $0, .open(until: 1_600)) }, at: 16)
        #expect(made.dropLast().allSatisfy { $0.response != .error(Refusal(.busy)) })
        #expect(made.last?.response == .error(Refusal(.busy)))
        // A meeting that has ended makes room, and keeps its number.
        #expect(
            try outcomes(
                store, change(1_000, .end), change(99_000, .open(until: 1_600)),
                change(1_000, .open(until: 1_600)), change(99_001, .open(until: 1_600)))
                == [.ended, .opened, .full, .full])
        #expect(try outcomes(store, change(100, .open(until: 2_200), at: 1_600)) == [.opened])
        try store.close()
    }
}
