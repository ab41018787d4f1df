import Sotto

/// The answers that a member got in the present hour and day. Each change and each message is an answer once an hour.
struct GroupAnswers: Sendable {
    /// When the hour began, in seconds since 1970.
    private(set) var hour: Int64 = 0
    /// When the day began, in seconds since 1970.
    private(set) var day: Int64 = 0
    /// The number of messages in the day.
    private(set) var messagesOfDay = 0
    /// The changes in the hour.
    private(set) var changes: [GroupID] = []
    /// The ids of the messages in the hour.
    private(set) var messages: [String] = []

    /// The most messages that a member gets again in a day.
    static let mostMessagesOfDay = 200
    /// The most changes that a member gets again in an hour.
    static let mostChangesOfHour = GroupMemberNote.mostWanted
    private static let hourSeconds: Int64 = 3_600
    private static let daySeconds: Int64 = 86_400

    /// Whether the member got no answer.
    var isEmpty: Bool { hour == 0 }

    /// Returns the changes that are not answered again now.
    func changes(at time: Timestamp) -> [GroupID] { isHourOver(time) ? [] : changes }

    /// Returns the messages that are not answered again now.
    func messages(at time: Timestamp) -> [String] { isHourOver(time) ? [] : messages }

    /// Returns the number of changes that the member can still get in this hour.
    func changesLeft(at time: Timestamp) -> Int {
        max(0, Self.mostChangesOfHour - changes(at: time).count)
    }

    /// Returns the number of messages that the member can still get in this day.
    func messagesLeft(at time: Timestamp) -> Int {
        isDayOver(time) ? Self.mostMessagesOfDay : max(0, Self.mostMessagesOfDay - messagesOfDay)
    }

    /// Counts answers.
    mutating func add(_ changes: [GroupID], _ messages: [String], at time: Timestamp) {
        guard !changes.isEmpty || !messages.isEmpty else { return }
        if isHourOver(time) { (hour, self.changes, self.messages) = (time.seconds, [], []) }
        if isDayOver(time) { (day, messagesOfDay) = (time.seconds, 0) }
        self.changes += changes
        self.messages += messages
        messagesOfDay += messages.count
    }

    // A clock that was set back begins a new hour and a new day.
    private func isHourOver(_ time: Timestamp) -> Bool {
        !(hour..<hour + Self.hourSeconds).contains(time.seconds)
    }

    private func isDayOver(_ time: Timestamp) -> Bool {
        !(day..<day + Self.daySeconds).contains(time.seconds)
    }
}
