import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
public import SottoWire

/// Holds or joins the place of a meeting at a relay, and reads the messages of the other side from it.
///
/// The connection needs no certificate that can be checked: the code authenticates the other side, and the relay's name is
/// part of what it authenticates. If the user gave a pin or authorities, they hold.
public struct MeetingWatch: Sendable {
    /// The place of a meeting.
    public enum Place: Sendable, Equatable {
        /// A new place.
        case new
        /// The place with a number.
        case number(Int64)
    }

    /// An event to report.
    public enum Notice: Sendable, Equatable {
        /// The certificate of the relay cannot be checked.
        case unchecked(relay: String)
        /// The relay that a code names has no TLS, or somebody blocks it.
        case unencrypted(relay: String)
        /// The connection was lost; another one is made.
        case lost(relay: String)
    }

    /// Seconds between two questions while a person is expected to act, and while a program is.
    private static let personSeconds = 0.25
    private static let programSeconds = 0.05
    /// The time limit in seconds for one step of an attempt.
    private static let patience = 10.0

    private let place: Place
    private let relays: [RelayURL]
    private let notice: @Sendable (Notice) -> Void

    /// Creates a watch. The first of `relays` that can be connected to is used.
    public init(
        _ place: Place, at relays: [RelayURL], notice: @escaping @Sendable (Notice) -> Void
    ) {
        (self.place, self.relays, self.notice) = (place, relays, notice)
    }

    /// Returns the addresses to try for a host and a port that a code names: TLS first. `authorities` is as in
    /// ``RelayAddress/find(_:authorities:fallback:)``.
    public static func relays(
        host: String, authorities: String?
    ) throws(RelayAddressError) -> [RelayURL] {
        let name = host.contains(":") && !host.hasSuffix("]") ? host : "\(host):\(defaultPort)"
        return [
            try RelayAddress.read("tls://\(name)", authorities: authorities),
            try RelayAddress.read("tcp://\(name)", authorities: authorities),
        ]
    }

    /// The port of a relay whose address in a code has none.
    public static let defaultPort: UInt16 = 7667

    /// Passes each record to `take` until this side needs no more. While `isWanted` returns false it ends early.
    ///
    /// Throws the errors of the connection, ``ClientError/noMeeting(relay:)`` if no place has the number, and
    /// ``ClientError/meetingExpired(relay:)`` at the end of its time.
    public func run(
        while isWanted: () -> Bool, _ take: (MeetingRecord) throws -> Void
    ) throws {
        let group = RelayLink.makeGroup()
        defer { group.shutdownGracefully { _ in } }
        let deadline = Monotonic.seconds() + Double(WireLimits.meetingSeconds)
        var connection = try connect(group)
        defer { connection.close() }
        let relay = connection.relay
        func record(_ content: MeetingRecord.Content, _ number: Int64) throws {
            try take(MeetingRecord(number: number, relay: relay.text, content))
        }
        let number: Int64
        switch place {
        case .new:
            number = try connection.open()
            try record(.place, number)
        case .number(let given): number = given
        }
        let steps = place == .new ? [2, 4] : [1, 3]
        for step in steps {
            let pause = step == 2 ? Self.personSeconds : Self.programSeconds
            while true {
                guard isWanted() else { return }
                var message: MeetingMessage?
                do throws(ClientError) {
                    message = try connection.message(step, of: number)
                } catch {
                    if case .noMeeting = error, place == .new || step > 1 {
                        throw ClientError.meetingExpired(relay: relay.description)
                    }
                    guard error.isTransient, Monotonic.seconds() < deadline else { throw error }
                    notice(.lost(relay: relay.description))
                    connection.close()
                    connection = try reconnect(to: relay, group, until: deadline)
                }
                if let message {
                    try record(.message(message), number)
                    if message == .end { return }
                    break
                }
                guard Monotonic.seconds() < deadline else {
                    throw ClientError.meetingExpired(relay: relay.description)
                }
                _ = EventQueue<Never>().take(timeout: pause)
            }
        }
    }

    /// Connects to the first relay that can be connected to.
    private func connect(_ group: MultiThreadedEventLoopGroup) throws(ClientError) -> Connection {
        var first: ClientError?
        for relay in relays {
            do throws(ClientError) {
                let connection = try Connection(to: relay, group)
                if relay != relays.first, !relay.scheme.isSecure {
                    notice(.unencrypted(relay: relay.description))
                }
                return connection
            } catch {
                if case .untrusted = error {
                    // The user said who may sign the certificate.
                    if !relay.meetsAnyCertificate { throw error }
                    // A server without TLS looks the same until a second attempt.
                    if let connection = try? Connection(to: relay.acceptingAnyCertificate, group) {
                        notice(.unchecked(relay: relay.description))
                        return connection
                    }
                }
                first = first ?? error
            }
        }
        throw first ?? .notARelay(relay: relays.first?.description ?? "")
    }

    private func reconnect(
        to relay: RelayURL, _ group: MultiThreadedEventLoopGroup, until deadline: Double
    ) throws(ClientError) -> Connection {
        var backoff = Backoff()
        while true {
            do throws(ClientError) { return try Connection(to: relay, group) } catch {
                let delay = backoff.next()
                guard error.isTransient, Monotonic.seconds() + delay < deadline else { throw error }
                _ = EventQueue<Never>().take(timeout: delay)
            }
        }
    }

    /// A connection to the relay of a meeting.
    private struct Connection {
        let relay: RelayURL
        private let link: RelayLink
        private let events = EventQueue<RelayLink.Event>()

        init(to relay: RelayURL, _ group: MultiThreadedEventLoopGroup) throws(ClientError) {
            self.relay = relay
            link = try RelayLink.open(
                to: relay, group: group, events: events, timeout: MeetingWatch.patience)
        }

        func close() { link.close() }

        /// Makes a place, and returns its number.
        func open() throws(ClientError) -> Int64 {
            let response = try ask(.openMeeting(relay: relay.name))
            if case .error(let refusal) = response, refusal == Refusal(.otherName) {
                throw .otherName(relay: relay.description, names: [])
            }
            guard case .meeting(let number) = response else { throw ClientError(response, relay) }
            return number
        }

        /// Returns the message of a step, ``MeetingMessage/end`` after the end, or `nil` while the place does not have it.
        func message(_ step: Int, of number: Int64) throws(ClientError) -> MeetingMessage? {
            let response = try ask(
                .meeting(MeetingRequest(number: number, relay: relay.name, .get(step: step))))
            switch response {
            case .meetingMessage(nil): return nil
            case .meetingMessage(let bytes?):
                guard let message = try? MeetingMessage(stored: bytes), message.step == step else {
                    throw .badMeeting(relay: relay.description)
                }
                return message
            case .error(let refusal) where refusal == Refusal(.meetingOver): return .end
            default: throw ClientError(response, relay)
            }
        }

        private func ask(_ request: Request) throws(ClientError) -> Response {
            var others: [RelayLink.Event] = []
            return try link.askWithWork(
                request, requestID: "meeting", of: relay, events: events, others: &others,
                timeout: MeetingWatch.patience)
        }
    }
}

/// A message that a side of a meeting puts into its place at a relay.
public struct MeetingPost: Sendable {
    private let request: Request
    private let relay: RelayURL
    /// Whether the message ends the meeting. A place that has ended or expired needs none.
    private let isEnd: Bool

    /// Creates the post of a record; `nil` for a record that only names a place. `relay` is the address of its relay.
    public init?(_ record: MeetingRecord, at relay: RelayURL) {
        guard case .message(let message) = record.content else { return nil }
        isEnd = message == .end
        let act: MeetingRequest.Act =
            isEnd ? .end : .put(step: message.step, message: message.stored)
        request = .meeting(MeetingRequest(number: record.number, relay: relay.name, act))
        self.relay = relay.meetsAnyCertificate ? relay.acceptingAnyCertificate : relay
    }

    /// Puts the message, and reconnects within `timeout` seconds.
    public func run(timeout: Double = 30) throws(ClientError) {
        do throws(ClientError) {
            let response = try AnonymousRequest(request: request, relay: relay) {
                if case .error(let refusal) = $0 {
                    refusal == Refusal(.workRequired)
                } else {
                    false
                }
            }.ask(timeout: timeout)
            switch response {
            case .stored, .accepted: return
            default: throw ClientError(response, relay)
            }
        } catch {
            switch error {
            case .noMeeting where isEnd, .meetingOver where isEnd: return
            case .refused(let relay, .conflict): throw .meetingTaken(relay: relay)
            default: throw error
            }
        }
    }
}

extension RelayURL {
    /// Whether a meeting at this address accepts a certificate that cannot be checked: neither a pin nor authorities are given.
    fileprivate var meetsAnyCertificate: Bool { pin == nil && authorities == nil }
}
