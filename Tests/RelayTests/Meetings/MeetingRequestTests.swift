import Sotto
import SottoClient
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The requests about meetings at a running relay.
@Suite(.timeLimit(.minutes(60))) struct MeetingRequestTests {
    private func get(_ number: Int64, _ running: RunningRelay, _ step: Int = 1) -> Request {
        .meeting(MeetingRequest(number: number, relay: running.relay.address, .get(step: step)))
    }

    private func put(
        _ number: Int64, _ running: RunningRelay, _ step: Int, _ message: [UInt8]
    ) -> Request {
        .meeting(
            MeetingRequest(
                number: number, relay: running.relay.address, .put(step: step, message: message)))
    }

    private func open(_ client: RawClient, _ running: RunningRelay) throws -> Int64 {
        let response = client.ask(.openMeeting(relay: running.relay.address))
        guard case .meeting(let number) = response else {
            Issue.record("\(String(describing: response))")
            throw UnexpectedResponse()
        }
        return number
    }

    struct UnexpectedResponse: Error {}

    private func work(_ client: RawClient) throws {
        guard case .puzzle(let nonce, let bits) = client.ask(.puzzle) else {
            throw UnexpectedResponse()
        }
        let counter = try ProofOfWork.solve(nonce, bits: bits)
        #expect(client.ask(.solution(nonce: nonce, counter: counter)) == .accepted)
    }

    @Test func theFramesAreReadAsTheyWereWritten() throws {
        let requests: [Request] = [
            .openMeeting(relay: "a:1"), .meeting(MeetingRequest(number: 417, relay: "a:1", .end)),
            .meeting(MeetingRequest(number: 417, relay: "a:1", .get(step: 4))),
            .meeting(
                MeetingRequest(number: 417, relay: "a:1", .put(step: 1, message: [1, 2]))),
        ]
        for request in requests {
            let line = Array(request.line(requestID: "1").dropLast())
            #expect(try Request(Frame(parsing: line)) == request)
        }
        for response in [Response.meeting(number: 417), .meetingMessage(nil), .meetingMessage([1])]
        {
            let line = Array(response.line(requestID: "1").dropLast())
            #expect(Response(try Frame(parsing: line)) == response)
        }
    }

    @Test func thePlaceCarriesTheMessagesOfBothSides() throws {
        let running = try RunningRelay()
        let (alice, bob) = (running.client(), running.client())
        let number = try open(alice, running)
        #expect((100...999).contains(number))
        #expect(bob.ask(get(number, running)) == .meetingMessage(nil))
        #expect(alice.ask(put(number, running, 1, [1])) == .stored)
        #expect(bob.ask(get(number, running)) == .meetingMessage([1]))
        #expect(bob.ask(put(number, running, 2, [2])) == .stored)
        #expect(bob.ask(put(number, running, 2, [9])) == .rejected(Refusal(.conflict)))
        #expect(alice.ask(get(number, running, 2)) == .meetingMessage([2]))
        let end = Request.meeting(
            MeetingRequest(number: number, relay: running.relay.address, .end))
        #expect(bob.ask(end) == .accepted)
        #expect(alice.ask(get(number, running, 2)) == .error(Refusal(.meetingOver)))
    }

    @Test func anUnknownNumberAndAnotherNameAreRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        let number = try open(client, running)
        let other = number == 999 ? 100 : number + 1
        #expect(client.ask(get(other, running)) == .error(Refusal(.noMeeting)))
        #expect(client.ask(.openMeeting(relay: "other:1")) == .error(Refusal(.otherName)))
        #expect(
            client.ask(.meeting(MeetingRequest(number: number, relay: "other:1", .get(step: 1))))
                == .error(Refusal(.otherName)))
        // The relay has both names, but the place is for one.
        let port = running.relay.address.split(separator: ":").last!
        #expect(
            client.ask(
                .meeting(
                    MeetingRequest(
                        number: number, relay: "localhost:\(port)", .put(step: 1, message: [1]))))
                == .error(Refusal(.otherName)))
        #expect(client.ask(get(number, running)) == .meetingMessage(nil))
    }

    /// A relay for members must not learn which member meets: each side proves work and logs in never.
    @Test func aRelayForMembersRequiresWork() throws {
        let running = try RunningRelay {
            $0.admission.list = [Sample.identity().id]
            $0.surgeBits = 6
        }
        let (alice, bob) = (running.client(), running.client())
        #expect(
            alice.ask(.openMeeting(relay: running.relay.address)) == .error(Refusal(.workRequired)))
        try work(alice)
        let number = try open(alice, running)
        #expect(alice.ask(put(number, running, 1, [1])) == .stored)
        #expect(bob.ask(get(number, running)) == .error(Refusal(.workRequired)))
        try work(bob)
        #expect(bob.ask(get(number, running)) == .meetingMessage([1]))
        #expect(bob.ask(put(number, running, 2, [2])) == .stored)
    }

    /// The clients solve the puzzles.
    @Test func theClientsProveWork() throws {
        let running = try RunningRelay {
            $0.admission.list = [Sample.identity().id]
            $0.surgeBits = 4
        }
        let url = try RelayURL("tcp://\(running.relay.address)")
        var records: [MeetingRecord] = []
        try MeetingWatch(.new, at: [url]) { _ in }.run(while: { records.isEmpty }) {
            records.append($0)
        }
        let place = try #require(records.first)
        #expect(place.content == .place && place.relay == url.text)
        let offer = MeetingRecord(
            number: place.number, relay: place.relay,
            .message(.offer(session: randomBytes(16), share: randomBytes(32))))
        if MeetingPost(place, at: url) != nil { Issue.record("a place is no message") }
        for _ in 0..<2 { try #require(MeetingPost(offer, at: url)).run() }
        try MeetingWatch(.number(place.number), at: [url]) { _ in }
            .run(while: { records.count < 2 }) { records.append($0) }
        #expect(records.last == offer)
        let second = MeetingRecord(
            number: place.number, relay: place.relay,
            .message(.offer(session: randomBytes(16), share: randomBytes(32))))
        #expect(throws: ClientError.meetingTaken(relay: url.description)) {
            try MeetingPost(second, at: url)?.run()
        }
        let end = MeetingRecord(number: place.number, relay: place.relay, .message(.end))
        try #require(MeetingPost(end, at: url)).run()
        #expect(throws: ClientError.meetingOver(relay: url.description)) {
            try MeetingPost(offer, at: url)?.run()
        }
        try MeetingWatch(.number(place.number), at: [url]) { _ in }
            .run(while: { true }) { records.append($0) }
        #expect(records.last == end)
        let other = place.number == 999 ? 100 : place.number + 1
        #expect(throws: ClientError.noMeeting(relay: url.description)) {
            try MeetingWatch(.number(other), at: [url]) { _ in }.run(while: { true }) { _ in }
        }
    }

    /// Both sides may end a meeting, and one may do so after its time.
    @Test func anEndOfAPlaceThatIsOverIsNoError() throws {
        let running = try RunningRelay()
        let url = try RelayURL("tcp://\(running.relay.address)")
        let number = try open(running.client(), running)
        let end = MeetingRecord(number: number, relay: url.text, .message(.end))
        for _ in 0..<2 { try #require(MeetingPost(end, at: url)).run() }
        let other = number == 999 ? 100 : number + 1
        let late = MeetingRecord(number: other, relay: url.text, .message(.end))
        try #require(MeetingPost(late, at: url)).run()
        let offer = MeetingRecord(
            number: other, relay: url.text,
            .message(.offer(session: randomBytes(16), share: randomBytes(32))))
        #expect(throws: ClientError.noMeeting(relay: url.description)) {
            try MeetingPost(offer, at: url)?.run()
        }
    }

    /// A relay that sends another step, or no message at all.
    @Test func aHostileRelayGetsNoFurther() throws {
        let message = MeetingMessage.answer(share: randomBytes(32), proof: randomBytes(32))
        for stored in [message.stored, [], Array("{}".utf8), randomBytes(99)] {
            let hostile = HostileRelay { connection in
                connection.answer { _, id in [(.meetingMessage(stored), id: id)] }
            }
            let url = try hostile.url()
            #expect(throws: ClientError.badMeeting(relay: url.description)) {
                try MeetingWatch(.number(417), at: [url]) { _ in }
                    .run(while: { true }) { _ in Issue.record("a record") }
            }
        }
    }

    /// 1,000 wrong guesses end 1,000 meetings: each guesser has one try, and learns nothing about the next meeting.
    @Test func aThousandWrongGuessesEndAThousandMeetings() throws {
        let running = try RunningRelay { $0.surgeBits = 1 }
        let name = running.relay.address
        let clients = (0..<20).map { _ in (alice: running.client(), guesser: running.client()) }
        var ended = 0
        for _ in 0..<50 {
            // Most places cost work.
            for client in clients { try work(client.alice) }
            let opened = answers(clients.map { ($0.alice, .openMeeting(relay: name)) })
            let numbers = opened.compactMap { response -> Int64? in
                if case .meeting(let number)? = response { number } else { nil }
            }
            try #require(numbers.count == clients.count)
            let sides = try numbers.map { try Guessed(number: $0, relay: name) }
            let posts: [[(client: RawClient, request: Request)]] = [
                zip(clients, sides).map { ($0.alice, put($1.number, running, 1, $1.offer)) },
                zip(clients, sides).map { ($0.guesser, put($1.number, running, 2, $1.guess)) },
            ]
            for post in posts { #expect(answers(post).allSatisfy { $0 == .stored }) }
            let read = answers(
                zip(clients, sides).map { ($0.alice, get($1.number, running, 2)) })
            #expect(read == sides.map { .meetingMessage($0.guess) })
            for side in sides { #expect(throws: MeetingError.proof) { try side.verify() } }
            let end = answers(
                zip(clients, sides).map {
                    ($0.alice, .meeting(MeetingRequest(number: $1.number, relay: name, .end)))
                })
            #expect(end.allSatisfy { $0 == .accepted })
            // There is no second guess.
            ended += answers(
                zip(clients, sides).map { ($0.guesser, put($1.number, running, 2, $1.guess)) }
            ).count { $0 == .error(Refusal(.meetingOver)) }
        }
        #expect(ended == 1_000)
    }

    /// Returns the answers to requests of different clients, which share commits.
    private func answers(_ requests: [(client: RawClient, request: Request)]) -> [Response?] {
        for (client, request) in requests { client.send(request.line(requestID: "1")) }
        return requests.map { $0.client.response() }
    }

    /// A meeting whose other side guesses the words.
    private final class Guessed {
        let number: Int64
        let offer: [UInt8]
        let guess: [UInt8]
        private let initiator: MeetingInitiator

        init(number: Int64, relay: String) throws {
            let initiator = MeetingInitiator(MeetingCode(randomFor: number), relay: relay)
            let guesser = try MeetingKeys(
                joining: initiator.offer, MeetingCode(randomFor: number), relay: relay)
            self.number = number
            offer = initiator.offer.stored
            guess = guesser.answer.stored
            self.initiator = initiator
        }

        func verify() throws { _ = try initiator.keys(MeetingMessage(stored: guess)) }
    }
}

/// The limits of meetings for a network, without a socket.
@Suite struct MeetingLimitTests {
    typealias Line = ConnectionStateTests.Line

    private static let name = "relay.example:1"

    private func solve(_ line: Line) throws {
        guard case .puzzle(let nonce, let bits)? = line.ask(.puzzle) else { return }
        let counter = try ProofOfWork.solve(nonce, bits: bits)
        #expect(line.ask(.solution(nonce: nonce, counter: counter)) == .accepted)
    }

    @Test func theEleventhPlaceInTenMinutesCostsWork() throws {
        let line = Line { $0.surgeBits = 4 }
        func count() -> Int { line.changes.count }
        for _ in 0..<10 {
            line.send(.openMeeting(relay: Self.name))
            line.complete(.meeting(.opened, 417))
        }
        #expect(count() == 10)
        #expect(line.ask(.openMeeting(relay: Self.name)) == .error(Refusal(.workRequired)))
        try solve(line)
        line.send(.openMeeting(relay: Self.name))
        line.complete(.meeting(.opened, 417))
        #expect(count() == 11)
        line.now += 60
        line.send(.openMeeting(relay: Self.name))
        #expect(count() == 12)
    }

    @Test func aNetworkMakesAHundredPlacesInTenMinutes() throws {
        let line = Line { $0.surgeBits = 1 }
        for _ in 0..<100 {
            // As clients do: a place that is refused for want of work is not counted.
            if line.ask(.openMeeting(relay: Self.name)) == .error(Refusal(.workRequired)) {
                try solve(line)
                line.send(.openMeeting(relay: Self.name))
            }
            line.complete(.meeting(.opened, 417))
        }
        #expect(line.changes.count == 100)
        try solve(line)
        #expect(line.ask(.openMeeting(relay: Self.name)) == .deferred(Refusal(.tooMany)))
        // The work was not in vain.
        #expect(line.state.solvedPuzzles == 1)
    }

    /// Loopback has no limit as a network, and the networks of an attacker are many: the places have one in all.
    @Test func allPlacesTogetherCostWorkInTheEnd() {
        let limits = MeetingLimits()
        for place in 0..<200 {
            let network: [UInt8]? = place < 100 ? nil : [192, 0, UInt8(place)]
            #expect(limits.isFreePlace(from: network, at: 1))
        }
        #expect(!limits.isFreePlace(from: nil, at: 1))
        #expect(!limits.isFreePlace(from: [198, 51, 100], at: 1))
        #expect(limits.isFreePlace(from: nil, at: 5))
    }

    @Test func manyNumbersCostWorkAndOneNumberDoesNot() {
        let line = Line()
        func get(_ number: Int64) -> Response? {
            line.ask(.meeting(MeetingRequest(number: number, relay: Self.name, .get(step: 1))))
        }
        for _ in 0..<1_000 { #expect(get(417) == .error(Refusal(.noMeeting))) }
        for number in Int64(500)..<539 { #expect(get(number) == .error(Refusal(.noMeeting))) }
        #expect(get(600) == .error(Refusal(.workRequired)))
        #expect(get(538) == .error(Refusal(.noMeeting)))
    }

    /// While numbers are free, they have three digits; a taken one is never given away.
    @Test func aTakenNumberIsTriedAgainWithMoreDigits() {
        let line = Line()
        line.send(.openMeeting(relay: Self.name))
        for _ in 0..<14 { line.complete(.meeting(.taken, 417)) }
        let numbers = line.changes.compactMap { change -> Int64? in
            if case .meeting(let change) = change { change.number } else { nil }
        }
        #expect(numbers.map { String($0).count } == [3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7])
        line.responses = []
        line.complete(.meeting(.taken, 417))
        #expect(line.responses == [.error(Refusal(.busy))])
    }
}
