import Sotto
import SottoDatabase
import SottoWire

/// A change to the place of a meeting.
struct MeetingChange: Sendable {
    /// What to do.
    enum Act: Sendable {
        /// Make the place. It is deleted at the second `until`.
        case open(until: Int64)
        /// Store the message of a step, from 1.
        case put(step: Int, [UInt8])
        /// Delete the messages, and keep the place as ended.
        case end
    }

    /// The number of the place.
    let number: Int64
    /// The relay's name for which the place is.
    let relay: String
    let act: Act
    /// The time, by ``RelayClock/holding``.
    let second: Int64

    /// The maximum number of places at a time, without those that have ended.
    static let places: Int64 = 2_000
    /// The row of the place itself, whose body is the relay's name.
    fileprivate static let placeStep: Int64 = 0
    /// The row of a meeting that has ended.
    fileprivate static let endStep = Int64(WireLimits.meetingSteps + 1)

    /// The approximate number of bytes that the change writes.
    var weight: Int { if case .put(_, let message) = act { message.count + 256 } else { 256 } }

    /// The number of the place as a key: 8 bytes.
    fileprivate var key: [UInt8] { UInt64(number).bigEndianBytes }

    /// The step of the row that a put or an end writes, and its body.
    fileprivate var row: (step: Int64, body: [UInt8]) {
        switch act {
        case .open: (Self.placeStep, Array(relay.utf8))
        case .put(let step, let message): (Int64(step), message)
        case .end: (Self.endStep, [])
        }
    }
}

/// The outcome of a ``MeetingChange``. The numbers are those of the functions in `sotto.sql`.
enum MeetingOutcome: Int64, Sendable {
    /// The place was made.
    case opened = 1
    /// The number belongs to another place.
    case taken = 2
    /// There are ``MeetingChange/places`` places that have not ended.
    case full = 3
    /// The message is stored.
    case stored = 4
    /// The step has another message, or comes too early.
    case conflict = 5
    /// The meeting has ended now.
    case ended = 6
    /// There is no such place.
    case unknown = 7
    /// The meeting had ended before.
    case over = 8
    /// The place is for another name of the relay.
    case otherName = 9

    /// Returns the response to the client that asked for the change of the place `number`.
    func response(_ number: Int64) -> Response {
        switch self {
        case .opened: .meeting(number: number)
        case .taken, .full: .error(Refusal(.busy))
        case .stored: .stored
        case .conflict: .rejected(Refusal(.conflict))
        case .ended: .accepted
        case .unknown: .error(Refusal(.noMeeting))
        case .over: .error(Refusal(.meetingOver))
        case .otherName: .error(Refusal(.otherName))
        }
    }
}

/// What a store has of the place of a meeting.
struct StoredMeeting: Sendable, Equatable {
    /// The relay's name for which the place is.
    private(set) var relay = ""
    /// Whether the meeting has ended.
    private(set) var isOver = false
    /// The message of the step that was asked for.
    private(set) var message: [UInt8]?

    /// Creates the state from the rows of the place, or returns `nil` without a place.
    fileprivate init?(_ rows: [(step: Int64, body: [UInt8])]) {
        var isPlace = false
        for (step, body) in rows {
            switch step {
            case MeetingChange.placeStep:
                isPlace = true
                relay = String(decoding: body, as: UTF8.self)
            case MeetingChange.endStep: isOver = true
            default: message = body
            }
        }
        guard isPlace else { return nil }
    }

    /// Returns the response to a client that names the relay `name`.
    func response(_ name: String) -> Response {
        guard relay.isSameBytes(as: name) else { return .error(Refusal(.otherName)) }
        return isOver ? .error(Refusal(.meetingOver)) : .meetingMessage(message)
    }
}

extension StoreTransaction {
    /// Applies a change to the place of a meeting.
    func apply(_ change: MeetingChange) throws(StoreError) -> Outcome {
        switch change.act {
        case .open(let until): return try open(change, until: until)
        case .put where isScarce: return .diskFull
        case .put, .end: return .meeting(try write(change), change.number)
        }
    }

    private func open(_ change: MeetingChange, until: Int64) throws(StoreError) -> Outcome {
        guard !isScarce else { return .diskFull }
        try connection.run(
            "DELETE FROM meeting WHERE number = ? AND until <= ?", change.number, change.second)
        let count = try connection.integer(
            """
            SELECT coalesce(sum(CASE step WHEN 0 THEN 1 ELSE -1 END), 0) FROM meeting
            WHERE step IN (0, ?) AND until > ?
            """, MeetingChange.endStep, change.second)
        guard count < MeetingChange.places else { return .meeting(.full, change.number) }
        return .meeting(try insert(change, until) ? .opened : .taken, change.number)
    }

    private func write(_ change: MeetingChange) throws(StoreError) -> MeetingOutcome {
        let place = try connection.first(
            "SELECT until, body FROM meeting WHERE number = ? AND step = 0 AND until > ?",
            change.number, change.second
        ) { (until: $0.integer(0), relay: $0.bytes(1)) }
        guard let place else { return .unknown }
        guard place.relay == Array(change.relay.utf8) else { return .otherName }
        guard try body(MeetingChange.endStep, of: change.number) == nil else { return .over }
        let (step, message) = change.row
        if step == MeetingChange.endStep {
            try connection.run("DELETE FROM meeting WHERE number = ? AND step > 0", change.number)
            _ = try insert(change, place.until)
            return .ended
        }
        if step > 1, try body(step - 1, of: change.number) == nil { return .conflict }
        _ = try insert(change, place.until)
        return try body(step, of: change.number) == message ? .stored : .conflict
    }

    private func body(_ step: Int64, of number: Int64) throws(StoreError) -> [UInt8]? {
        try connection.first(
            "SELECT body FROM meeting WHERE number = ? AND step = ?", number, step
        ) { $0.bytes(0) }
    }

    /// Inserts the row of a change. Returns false if it exists.
    private func insert(_ change: MeetingChange, _ until: Int64) throws(StoreError) -> Bool {
        let (step, body) = change.row
        try connection.run(
            """
            INSERT INTO meeting (number, step, until, body) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """, change.number, step, until, body)
        return connection.changes == 1
    }
}

extension SQLiteStore {
    func meeting(_ number: Int64, step: Int, at second: Int64) throws(StoreError)
        -> StoredMeeting?
    {
        try reader.use { connection throws(StoreError) in
            StoredMeeting(
                try connection.rows(
                    """
                    SELECT step, body FROM meeting
                    WHERE number = ? AND step IN (0, ?, ?) AND until > ?
                    """, number, Int64(step), MeetingChange.endStep, second
                ) { row throws(StoreError) in (step: row.integer(0), body: row.bytes(1)) })
        }
    }

    /// Deletes expired places.
    static func forgetMeetings(
        _ connection: StoreConnection, at second: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        let numbers = try connection.rows(
            "SELECT number FROM meeting WHERE step = 0 AND until <= ? LIMIT ?", second, limit
        ) { $0.integer(0) }
        for number in numbers {
            try connection.run("DELETE FROM meeting WHERE number = ?", number)
        }
        return numbers.count == limit
    }
}

extension PostgresStore {
    func meeting(_ number: Int64, step: Int, at second: Int64) throws(StoreError)
        -> StoredMeeting?
    {
        var query = PostgresQuery("SELECT * FROM sotto.meeting($1, $2, $3)")
        query.add(UInt64(number).bigEndianBytes)
        query.add(Int64(step))
        query.add(second)
        let rows = try reader.rows(query)
        return StoredMeeting(
            (0..<rows.count).map { (step: rows.integer($0, 0), body: rows.bytes($0, 1)) })
    }

    /// Deletes expired places.
    func sweepMeetings(at second: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_meetings($1, $2)")
        query.add(second)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}

extension PostgresQuery {
    /// Creates the call for a change to the place of a meeting; it returns a ``MeetingOutcome``.
    init(_ change: MeetingChange) {
        let (step, body) = change.row
        if case .open(let until) = change.act {
            self.init("SELECT sotto.open_meeting($1, $2, $3, $4, $5)")
            add(change.key)
            add(body)
            add(change.second)
            add(until)
            add(MeetingChange.places)
        } else {
            self.init("SELECT sotto.put_meeting($1, $2, $3, $4, $5)")
            add(change.key)
            add(Array(change.relay.utf8))
            add(change.second)
            add(step)
            add(body)
        }
    }
}
