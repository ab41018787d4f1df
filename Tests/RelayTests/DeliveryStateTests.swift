import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoClient

/// The state machine of a delivery, without a socket, a database, a thread or a clock.
@Suite struct DeliveryStateTests {
    private let alice = Sample.identityID()
    private let bob = Sample.identityID()

    private func item(
        to recipient: KeyID, ttl: Int64? = nil, needs: String? = nil
    ) -> Outbox.Item {
        let id = Envelope.newID()
        return Outbox.Item(
            id: id, to: recipient.description,
            envelope: Sample.record(id, to: recipient, ttl: ttl).serialized(),
            kind: ttl == 0 ? .signal : .envelope, needs: needs)
    }

    private func blob() -> Outbox.Item {
        Outbox.Item(id: hex(randomBytes(32)), to: bob.description, envelope: [], kind: .blob)
    }

    /// Returns a line whose connection is open and has these items in flight.
    private func line(_ items: [Outbox.Item]) -> DeliveryLine {
        let line = DeliveryLine()
        line.turn(.given(items))
        line.connect()
        #expect(line.sent == items.map(\.id))
        return line
    }

    private let full = Response.deferred(Refusal(.mailboxFull))

    // MARK: The order

    @Test func itemsAreSentInOrderAndReportedAfterTheirOutcome() {
        let items = [item(to: alice), item(to: bob), item(to: alice)]
        let line = line(items)
        #expect(line.admitted == 1 && line.hasLock)
        line.answer(.stored)
        line.answer(.duplicate)
        #expect(line.hasLock)
        line.answer(.rejected(Refusal(.tooLarge)))
        #expect(line.results.map(\.id) == items.map(\.id))
        #expect(line.results.map(\.status) == [.stored, .duplicate, .rejected])
        #expect(line.recorded == [1: "stored", 2: "duplicate", 3: "rejected 413 too_large"])
        // Another process can send until more input comes.
        #expect(!line.hasLock && line.ending == nil && line.rows.isEmpty)
        line.turn(.end)
        #expect(line.ending?.left == 0 && line.ending?.error == nil)
    }

    @Test func aWindowOfItemsIsInFlight() {
        let line = DeliveryLine()
        for _ in 0..<(2 * Delivery.window) { line.add(item(to: bob)) }
        line.turn(.end)
        line.connect()
        #expect(line.sent.count == Delivery.window)
        line.answer(.stored)
        line.answer(.stored)
        #expect(line.sent.count == Delivery.window)
        #expect(line.rows.count == 2 * Delivery.window - 2)
        while !line.requests.isEmpty { line.answer(.stored) }
        #expect(line.ending?.left == 0 && line.rows.isEmpty)
        // They belong to other processes.
        #expect(line.results.count == 2 * Delivery.window)
    }

    /// After one item is deferred the later ones for its mailbox wait, and no others.
    @Test func aDeferredMailboxWaitsAndKeepsItsOrder() {
        let first = [item(to: alice), item(to: bob)]
        let line = line(first)
        line.answer(full)
        let later = [item(to: alice), item(to: bob)]
        line.turn(.given(later))
        #expect(line.sent == [first[1].id, later[1].id])
        #expect(line.statuses(of: later[0].id) == [.deferred])
        line.answer(.stored)
        line.answer(.stored)
        #expect(line.sent.isEmpty && !line.hasLock)
        line.now += Delivery.retryDelay - 1
        line.turn()
        #expect(line.sent.isEmpty)
        #expect(line.state.timeout(at: line.now) == 1)
        line.now += 1
        line.turn()
        #expect(line.sent == [first[0].id, later[0].id])
        line.answer(.stored)
        line.answer(.stored)
        line.turn(.end)
        #expect(line.statuses(of: first[0].id) == [.deferred, .stored])
        #expect(line.ending?.left == 0)
    }

    @Test func deferredItemsStayAtTheEnd() {
        let line = line([item(to: alice), item(to: bob)])
        line.turn(.end)
        line.answer(full)
        #expect(line.ending == nil)
        line.answer(.stored)
        #expect(line.ending?.left == 1 && line.ending?.error == nil)
        #expect(line.rows.count == 1)
    }

    // MARK: Connections

    @Test func aLostConnectionRepeatsWhatWasNotAnswered() {
        let items = (0..<3).map { _ in item(to: bob) }
        let line = line(items)
        line.answer(.stored)
        line.lose()
        #expect(line.connections.count == 1 && line.requests.isEmpty)
        line.now += 2
        line.turn()
        #expect(line.connections.count == 2)
        // An answer of the first connection is not one of the second.
        line.turn(.response(.stored, requestID: "2", generation: 1))
        line.connect()
        #expect(line.sent == items.dropFirst().map(\.id))
        line.answer(.duplicate)
        line.answer(.stored)
        #expect(line.results.map(\.status) == [.stored, .duplicate, .stored])
    }

    /// The event of the end can come before that of the connection.
    @Test func aConnectionThatEndsBeforeItOpensIsTriedAgain() {
        let line = DeliveryLine()
        line.turn(.given([item(to: bob)]))
        line.lose()
        let first = line.connections[0]
        line.turn(.connected(generation: first))
        #expect(!line.state.isOpen(first) && line.requests.isEmpty)
        line.now += 2
        line.turn()
        line.connect()
        #expect(line.sent.count == 1 && line.connections.count == 2)
    }

    /// An error of the outbox ends the run before the effects that follow. The input must not wait for one of them.
    @Test func theInputContinuesBeforeTheOutboxIsRead() {
        var state = DeliveryState(to: "relay", hasBlobs: false, lockTimeout: 5)
        state.beginTurn()
        state.take(.given([item(to: bob)]), at: 0)
        _ = state.effects(at: 0)
        state.take(.stored([(number: Int64(1), item: item(to: bob))]), at: 0)
        guard case .admit(batches: 1)? = state.effects(at: 0).first else {
            Issue.record("the input waits")
            return
        }
    }

    /// A connection that is refused in its handshake is closed before its attempt fails with the reason.
    @Test func theReasonOfAFailedAttemptIsReported() {
        let line = DeliveryLine()
        line.turn(.given([item(to: bob)]))
        line.turn(.end)
        for _ in 0..<2 where line.ending == nil {
            line.lose()
            line.turn(
                .failed(.otherKey(relay: "relay"), generation: line.connections.last ?? 0))
            line.now += 60
            line.turn()
        }
        guard case .otherKey? = line.ending?.error else {
            Issue.record("\(String(describing: line.ending))")
            return
        }
    }

    @Test func aSilentRelayIsLost() {
        let line = line([item(to: bob)])
        line.now += line.state.patience.reply - 1
        // Other frames do not count.
        line.turn(
            .response(.stored, requestID: "77", generation: 1),
            .response(.empty, requestID: nil, generation: 1))
        #expect(line.state.timeout(at: line.now) == 1)
        line.now += 1
        line.turn()
        #expect(!line.isConnected)
        line.turn(.end)
        // One more attempt is made after the end of the input, and not another.
        #expect(line.connections.count == 2 && line.ending == nil)
        line.turn(
            .failed(.unreachable(relay: "r", cause: "gone"), generation: line.connections.last!))
        #expect(line.ending?.error == .unreachable(relay: "r", cause: "gone"))
        #expect(line.ending?.left == 1)
        #expect(line.results.map(\.status) == [.queued])
    }

    @Test func aConnectionThatMadeProgressIsTriedOnceMore() {
        let items = [item(to: alice), item(to: bob)]
        let line = line(items)
        line.turn(.end)
        line.answer(.stored)
        line.lose()
        #expect(line.connections.count == 2 && line.ending == nil)
        line.connect()
        #expect(line.sent == [items[1].id])
        line.lose()
        #expect(line.ending?.error == .lost(relay: "relay") && line.ending?.left == 1)
    }

    @Test func aRelayThatIsNoneOrHasNoRoomEndsTheConnection() {
        let odd = line([item(to: bob)])
        odd.answer(.pong)
        odd.turn(.end)
        #expect(odd.rows.count == 1 && !odd.isConnected)
        let busy = line([item(to: bob)])
        busy.turn(.response(.error(Refusal(.busy)), requestID: nil, generation: 1))
        #expect(!busy.isConnected && busy.rows.count == 1)
    }

    // MARK: Proof of work

    @Test func aConnectionSolvesTwoPuzzles() {
        let items = (0..<3).map { _ in item(to: bob) }
        let line = line(items)
        for number in 1...2 {
            line.answer(.error(Refusal(.workRequired)), to: "\(number)")
            #expect(line.requests.last?.request == .puzzle)
            line.answer(.puzzle(nonce: randomBytes(WireLimits.nonceBytes), bits: 1), to: "work")
            guard case .solution = line.requests.last?.request else {
                Issue.record("no solution")
                return
            }
            line.answer(.accepted, to: "work")
            #expect(line.requests.last?.id == "\(number)")
        }
        line.answer(.error(Refusal(.workRequired)), to: "3")
        #expect(line.statuses(of: items[2].id) == [.deferred])
        line.answer(.stored, to: "1")
        line.answer(.stored, to: "2")
        #expect(line.results.map(\.status) == [.deferred, .stored, .stored])
    }

    @Test func aPuzzleThatIsTooHardOrLostEndsTheConnection() {
        let hard = line([item(to: bob)])
        hard.answer(.error(Refusal(.workRequired)))
        hard.answer(.puzzle(nonce: randomBytes(WireLimits.nonceBytes), bits: 60))
        #expect(!hard.isConnected && hard.rows.count == 1)
        let lost = line([item(to: bob)])
        lost.answer(.error(Refusal(.workRequired)))
        lost.lose()
        lost.now += 2
        lost.turn()
        lost.connect()
        // The item is sent again, without a solution of the earlier connection.
        #expect(lost.sent.count == 1 && lost.requests.count == 1)
    }

    // MARK: Blobs

    @Test func anEnvelopeFollowsItsBlob() {
        let line = DeliveryLine(hasBlobs: true)
        let blob = blob()
        let (after, other) = (item(to: bob, needs: blob.id), item(to: bob))
        line.turn(.given([blob, after, other]))
        line.connect()
        #expect(line.uploads.map(\.item.id) == [blob.id] && line.sent == [other.id])
        line.answer(.stored)
        #expect(line.hasLock)
        line.turn(.uploaded(line.uploads[0].number, .stored(isNew: true)))
        #expect(line.removedFiles == [blob.id] && line.sent == [after.id])
        line.answer(.stored)
        line.turn(.end)
        #expect(line.results.map(\.id) == [other.id, blob.id, after.id])
        #expect(line.ending?.left == 0 && line.rows.isEmpty)
    }

    @Test func aRefusedBlobRejectsItsEnvelopes() {
        let line = DeliveryLine(hasBlobs: true)
        let blob = blob()
        let after = item(to: bob, needs: blob.id)
        line.turn(.given([blob, after]))
        line.connect()
        line.turn(.uploaded(1, .rejected(Refusal(.conflict))), .end)
        #expect(line.results.map(\.status) == [.rejected, .rejected])
        #expect(line.rows.isEmpty && line.ending?.left == 0)
    }

    @Test func aBlobIsTriedAgainWhileItProgresses() {
        let line = DeliveryLine(hasBlobs: true)
        line.turn(.given([blob()]))
        line.connect()
        let lost = BlobUploader.Ending.failed(.lost(relay: "r"), hasProgressed: true)
        line.turn(.end)
        line.state.uploads.lastProgress = line.now
        line.turn(.uploaded(1, lost))
        #expect(line.uploads.count == 1 && line.ending == nil)
        line.now += 2
        line.turn()
        #expect(line.uploads.count == 2)
        line.now += 60
        line.turn(.uploaded(1, lost))
        #expect(line.ending?.error == .lost(relay: "r") && line.ending?.left == 1)
    }

    @Test func aSlowRelayIsNotTriedAgain() {
        let line = DeliveryLine(hasBlobs: true)
        line.turn(.given([blob()]), .end)
        line.connect()
        line.state.uploads.lastProgress = line.now
        let slow = ClientError.tooSlow(relay: "r")
        line.turn(.uploaded(1, .failed(slow, hasProgressed: false)))
        #expect(line.ending?.error == slow)
    }

    /// The blob is at another relay, whose delivery has not ended.
    @Test func anEnvelopeWaitsForABlobElsewhere() {
        let line = DeliveryLine()
        let blob = hex(randomBytes(32))
        line.blobsElsewhere = [blob]
        line.waitsForOthers = true
        let (after, other) = (item(to: bob, needs: blob), item(to: bob))
        line.turn(.given([after, other]), .end)
        line.connect()
        #expect(line.sent == [other.id])
        line.answer(.stored)
        #expect(line.ending == nil && !line.hasLock)
        line.blobsElsewhere = []
        line.turn(.other)
        #expect(line.sent == [after.id])
        line.answer(.stored)
        line.waitsForOthers = false
        line.turn(.other)
        #expect(line.ending?.left == 0)
    }

    /// The relay of the blob refused it: its delivery reported the envelope and removed it.
    @Test func anEnvelopeOfABlobThatWasRefusedElsewhereIsForgotten() {
        let line = DeliveryLine()
        let blob = hex(randomBytes(32))
        line.blobsElsewhere = [blob]
        line.waitsForOthers = true
        line.turn(.given([item(to: bob, needs: blob)]), .end)
        #expect(line.ending == nil)
        (line.rows, line.blobsElsewhere, line.waitsForOthers) = ([:], [], false)
        line.turn(.other)
        #expect(line.ending?.left == 0 && line.results.isEmpty)
    }

    // MARK: Other processes

    @Test func anotherProcessSendsAndTheOutcomeIsCollected() {
        let line = DeliveryLine()
        line.isLockedElsewhere = true
        let items = [item(to: bob), item(to: bob)]
        line.turn(.given(items), .end)
        #expect(line.connections.isEmpty && line.ending == nil)
        #expect(line.state.timeout(at: line.now) ?? 1 < 0.1)
        line.foreignOutcomes = [(1, "stored"), (2, "teleported")]
        line.now += 1
        line.turn()
        #expect(line.results.map(\.status) == [.stored, .unknown])
        #expect(line.ending?.left == 0 && line.ending?.wasLocked == false)
    }

    @Test func aLockThatIsHeldTooLongEndsTheRun() {
        let line = DeliveryLine()
        line.isLockedElsewhere = true
        line.turn(.given([item(to: bob)]), .end)
        line.now += 4
        line.turn()
        #expect(line.ending == nil)
        line.now += 1
        line.turn()
        #expect(line.ending?.wasLocked == true && line.ending?.left == 1)
        #expect(line.results.map(\.status) == [.queued])
    }

    @Test func aLockThatBecomesFreeIsTaken() {
        let line = DeliveryLine()
        line.isLockedElsewhere = true
        line.turn(.given([item(to: bob)]), .end)
        line.now += 1
        line.isLockedElsewhere = false
        line.turn()
        line.connect()
        line.answer(.stored)
        #expect(line.ending?.left == 0)
    }

    // MARK: Signals

    @Test func aSignalNeedsNoLockAndIsNotRepeated() {
        let line = DeliveryLine()
        line.isLockedElsewhere = true
        let signals = (0..<3).map { _ in item(to: bob, ttl: 0) }
        line.turn(.given(signals))
        line.connect()
        #expect(line.sent == signals.map(\.id) && line.rows.isEmpty)
        line.answer(.accepted)
        line.answer(full)
        line.lose()
        #expect(line.results.map(\.status) == [.accepted, .dropped, .dropped])
        // Without a connection now, a signal is dropped.
        line.turn(.given([item(to: bob, ttl: 0)]))
        #expect(line.results.map(\.status).count == 4 && line.connections.count == 1)
    }

    @Test func manySignalsHoldTheInput() {
        let line = DeliveryLine()
        line.turn(.given((0..<Delivery.signalLimit).map { _ in item(to: bob, ttl: 0) }))
        #expect(line.admitted == 0)
        line.connect()
        #expect(line.admitted == 1 && line.sent.count == Delivery.window)
    }

    @Test func anExpiredItemIsNotSent() {
        let line = DeliveryLine()
        let late = item(to: bob)
        line.add(
            Outbox.Item(
                id: late.id, to: late.to, envelope: late.envelope, expires: Timestamp(seconds: 1)))
        line.turn(.end)
        line.connect()
        #expect(line.results.map(\.status) == [.expired] && line.ending?.left == 0)
    }

    @Test func withoutWorkNothingIsConnected() {
        let line = DeliveryLine()
        line.turn(.end)
        #expect(line.ending?.left == 0 && line.connections.isEmpty)
        #expect(line.state.timeout(at: line.now) == nil)
    }

    /// After an error of the outbox these items have no result.
    @Test func unfinishedItemsAreThoseWithoutARecordedOutcome() {
        let items = [item(to: alice), item(to: bob), item(to: bob, ttl: 0)]
        let line = line(items)
        #expect(line.state.unfinished.map(\.id) == items.prefix(2).map(\.id))
        line.state.beginTurn()
        line.state.take(.response(.stored, requestID: "1", generation: 1), at: line.now)
        #expect(line.state.unfinished.count == 2)
        _ = line.state.effects(at: line.now)
        // The effects are not performed, so the outcome is not recorded.
        #expect(line.state.unfinished.count == 2)
        _ = line.state.effects(at: line.now)
        #expect(line.state.unfinished.map(\.id) == [items[1].id])
    }
}
