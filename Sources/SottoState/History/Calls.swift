public import Sotto
import SottoDatabase

/// A call with a person, as its signals in the history tell it. All times are those of this machine.
public struct Call: Sendable, Hashable {
    /// The state of a call.
    public enum State: String, Sendable {
        /// The offer can still be answered.
        case ringing
        /// The call was answered and has not ended, as far as this side knows.
        case answered
        /// The call was answered and has ended.
        case ended
        /// A received offer that was not answered.
        case missed
        /// A sent offer that was not answered, or was withdrawn.
        case unanswered
        /// The other side, or the owner, did not want the call.
        case declined
        /// The side that was called had another call.
        case busy
        /// The connection failed.
        case failed
    }

    /// Seconds after an offer for which an answer can follow: the relay holds the offer and the answer for at most
    /// ``CallSignal/lifetime`` each, and so does the inbox.
    static let ringing = 3 * CallSignal.lifetime
    /// Seconds after an offer for which other signals can follow.
    static let longest: Int64 = 86_400

    /// The signal that ended a call.
    private struct End: Hashable {
        let kind: CallSignal.Kind
        let reason: CallSignal.Reason?
    }

    /// The id of the call.
    public let id: String
    /// The media that the offer names.
    public let media: CallSignal.Media?
    /// Whether the owner made the offer.
    public let isOwn: Bool
    /// When the offer was stored.
    public let offered: Timestamp
    /// Whether the offer cannot ring: `decrypt` gave it a reason because it came too late, or no relay has stored it.
    private let isLate: Bool
    /// When an answer was stored, or `nil`.
    public private(set) var answered: Timestamp?
    /// When the signal of the end was stored, or `nil`.
    public private(set) var ended: Timestamp?
    private var end: End?
    /// The number of later offers of this caller that were refused because there were too many.
    public internal(set) var more = 0

    /// Reads the signals of one call, in any order. Odd ones are left out. Returns `nil` without an offer. The claims of an
    /// import count only for an imported offer.
    init?(_ signals: [HistoryEntry], owner: KeyID) {
        let ordered = signals.sorted { $0.number < $1.number }
        let offers = ordered.filter { $0.call?.kind == .offer }
        guard let first = offers.first(where: { !$0.isImported }) ?? offers.first,
            let offer = first.call
        else { return nil }
        (id, media, isOwn) = (offer.call, offer.media, first.direction == .sent)
        offered = first.received ?? Timestamp(seconds: 0)
        isLate = offer.reason != nil || (isOwn && first.state.isFailed)
        for entry in ordered where entry.isImported == first.isImported {
            guard let signal = entry.call, signal.call == id else { continue }
            let time = entry.received ?? Timestamp(seconds: 0)
            guard ended == nil else { break }
            let isOwnSignal = entry.direction == .sent
            switch signal.kind {
            case .answer where answered == nil && isOwnSignal != isOwn: answered = time
            case .busy where answered == nil && isOwnSignal != isOwn,
                .hangup:
                ended = time
                end = End(kind: signal.kind, reason: signal.reason)
            case .offer, .answer, .candidates, .busy: break
            }
        }
    }

    /// Whether no signal of the call is expected any more.
    public func isOver(at now: Timestamp = .now()) -> Bool {
        ended != nil || isLate
            || now.seconds - offered.seconds >= (answered == nil ? Self.ringing : Self.longest)
    }

    /// The state of the call.
    public func state(at now: Timestamp = .now()) -> State {
        guard let end else {
            if answered != nil { return .answered }
            return isOver(at: now) ? (isOwn ? .unanswered : .missed) : .ringing
        }
        if answered != nil { return end.reason == .failed ? .failed : .ended }
        switch (end.kind, end.reason) {
        case (.busy, _), (_, .busy): return .busy
        case (_, .declined): return .declined
        case (_, .failed): return .failed
        default: return isOwn ? .unanswered : .missed
        }
    }

    /// Seconds from the answer to the end, or `nil`.
    public var seconds: Int64? {
        guard let answered, let ended else { return nil }
        return max(0, ended.seconds - answered.seconds)
    }

    /// The body of the type `system` that stands for the call in the output.
    public var body: JSONObject {
        JSONObject([
            ("type", .string("system")), ("event", .string(Self.event)), ("call", .string(id)),
            ("media", media.map { .string($0.rawValue) }), ("state", .string(state().rawValue)),
            ("seconds", seconds.map { .integer($0) }),
            ("more", more > 0 ? .integer(Int64(more)) : nil),
        ])
    }

    /// The value of the member `event` of ``body``.
    public static let event = "call"

    /// Returns whether a signal of a person is the next step of the call. `isOwnSignal` tells that the owner wrote it.
    func check(
        _ signal: CallSignal, isOwnSignal: Bool, at now: Timestamp
    ) -> StateTransaction.CallCheck {
        switch signal.kind {
        case .offer: return .odd("was offered before")
        case .candidates, .hangup: return isOver(at: now) ? .late : .valid
        case .answer, .busy:
            if isOver(at: now) { return .odd("is over") }
            if isOwnSignal == isOwn { return .odd("cannot be answered by its caller") }
            return answered == nil ? .valid : .odd("was answered before")
        }
    }
}

extension HistoryEntry {
    /// The signal of a call in the message, or `nil`.
    var call: CallSignal? {
        guard record["body"]?.object?["type"]?.string == CallSignal.type else { return nil }
        return body?.call
    }
}

extension MessageBody {
    /// The signal of a call, or `nil`.
    package var call: CallSignal? { if case .call(let signal) = kind { signal } else { nil } }
}

/// Received signals of calls.
extension StateTransaction {
    /// The most offers of a contact in ``callWindow`` that are stored and can ring.
    package static let callLimit = 6
    /// Seconds for which an offer counts for ``callLimit``.
    package static let callWindow: Int64 = 600

    /// The most seconds between the time of an offer that rings and this machine's clock: a relay that holds an offer for
    /// longer than it says cannot hold it for days.
    package static let longestDelay: Int64 = 86_400

    /// The result of checking a received signal.
    package enum CallCheck: Sendable, Equatable {
        /// The next step of its call.
        case valid
        /// The end or a candidate of a call that is over, or cannot ring any more.
        case late
        /// The signal of a call of which no offer is here.
        case unknown
        /// Not a step of a call with this person: the words say why.
        case odd(String)
        /// An offer above ``callLimit``. It was counted: the number of such offers after the last one that was stored.
        case tooMany(Int)
    }

    /// Checks a signal of a contact, and counts an offer that is one too many.
    package func check(
        _ signal: CallSignal, from peer: KeyID, at now: Timestamp = .now()
    ) throws(StateError) -> CallCheck {
        guard let row = try store.conversationRow(.peer(peer), connection) else {
            return signal.kind == .offer ? .valid : .unknown
        }
        if let call = try store.call(signal.call, in: row, connection) {
            return call.check(signal, isOwnSignal: false, at: now)
        }
        guard signal.kind == .offer else { return .unknown }
        let recent = try store.events(on: Self.calls, in: row, connection).filter {
            $0.direction == .received && !$0.isImported
                && ($0.received?.seconds ?? 0) > now.seconds - Self.callWindow
        }
        guard recent.count >= Self.callLimit,
            let last = recent.max(by: { $0.number < $1.number })?.call
        else { return .valid }
        let target = store.mark(call: last.call, in: row)
        let author = store.mark(author: peer)
        try connection.run(
            """
            INSERT INTO dropped (target, author, count) VALUES (?, ?, 1)
            ON CONFLICT (target, author) DO UPDATE SET count = count + 1
            """, target, author)
        return .tooMany(try store.refusedCalls(after: last.call, in: row, connection))
    }

    /// Makes a stored signal findable by its call, and an offer also among the calls of its conversation.
    func link(
        _ number: Int64, _ signal: CallSignal, in row: ConversationRow, author: KeyID?,
        at time: Timestamp, isImported: Bool
    ) throws(StateError) {
        let mark = author.map { store.mark(author: $0, isImported: isImported) } ?? 0
        try link(number, to: store.mark(call: signal.call, in: row), author: mark, at: time)
        guard signal.kind == .offer else { return }
        try link(
            number, to: store.mark(target: Self.calls, conversation: row.number), author: mark,
            at: time)
    }

    /// The target of all offers of a conversation. No id has this form.
    fileprivate static let calls = "calls"

    /// Returns when `recv` stored an envelope in the inbox, or `nil` if it did not.
    package func arrival(of id: String) throws(StateError) -> Timestamp? {
        try connection.rows("SELECT arrived FROM inbox WHERE id = ?", id) {
            Timestamp(seconds: $0.integer(0))
        }.first
    }
}

extension IdentityStore {
    /// Returns the keyed hash of a call, which is the target of its signals, 8 bytes.
    fileprivate func mark(call id: String, in row: ConversationRow) -> Int64 {
        mark(target: Self.target(ofCall: id), conversation: row.number)
    }

    /// The target of the signals of a call. No message has this id.
    private static func target(ofCall id: String) -> String { "call " + id }

    /// Returns a call of a conversation, or `nil` without an offer.
    func call(
        _ id: String, in row: ConversationRow, _ connection: StateConnection
    ) throws(StateError) -> Call? {
        let signals = try events(on: Self.target(ofCall: id), in: row, connection)
        guard var call = Call(signals, owner: owner.id) else { return nil }
        call.more = try refusedCalls(after: id, in: row, connection)
        return call
    }

    /// Returns the number of refused offers after a call.
    fileprivate func refusedCalls(
        after id: String, in row: ConversationRow, _ connection: StateConnection
    ) throws(StateError) -> Int {
        try connection.rows(
            "SELECT count FROM dropped WHERE target = ?", mark(call: id, in: row)
        ) { Int($0.integer(0)) }.reduce(0, +)
    }

    /// Returns the calls with a person that are not over, the last offer first.
    public func openCalls(
        with peer: KeyID, at now: Timestamp = .now()
    ) throws(StateError) -> [Call] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(.peer(peer), connection) else { return [] }
            let offers = try events(on: StateTransaction.calls, in: row, connection)
                .filter { !$0.isImported }.sorted { $0.number > $1.number }
            var open: [Call] = []
            for id in offers.compactMap({ $0.call?.call }) {
                guard let call = try call(id, in: row, connection), !call.isOver(at: now) else {
                    continue
                }
                open.append(call)
            }
            return open
        }
    }
}
