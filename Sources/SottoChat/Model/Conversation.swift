import Sotto

/// The open conversation: what is loaded of it, and the part that is shown.
struct Conversation: Sendable {
    /// The name of an entry.
    enum EntryID: Sendable, Hashable {
        case message(Int64)
        case notice(Int)
        /// A text that was typed and is not in the history yet.
        case pending(Int)
        /// A change of the group, by what it tells.
        case change(String)

        /// The number of a message; `nil` for another entry.
        var message: Int64? { if case .message(let number) = self { number } else { nil } }
    }

    /// A line that is not in the history, such as that of a member who joined.
    struct Notice: Sendable, Hashable {
        var number: Int
        var time: Timestamp
        var text: String
    }

    struct Entry: Sendable {
        enum Content: Sendable {
            case message(ChatMessage)
            case notice(Notice)
            case pending(ChatState.Pending)
            case change(GroupChangeLine)
        }

        var content: Content
        /// The order: time, number of the message, number of the notice.
        var order: (Int64, Int64, Int)

        var id: EntryID {
            switch content {
            case .message(let message): .message(message.number)
            case .notice(let notice): .notice(notice.number)
            case .pending(let text): .pending(text.number)
            case .change(let change): .change(change.id)
            }
        }

        var message: ChatMessage? {
            if case .message(let message) = content { message } else { nil }
        }

        var time: Timestamp {
            switch content {
            case .message(let message): message.time
            case .notice(let notice): notice.time
            case .pending(let text): text.time
            case .change(let change): change.time
            }
        }

        /// Whether it can be selected: a message, or a text that was not sent.
        var isSelectable: Bool {
            switch content {
            case .message: true
            case .notice, .change: false
            case .pending(let text): text.failure != nil
            }
        }
    }

    /// The bottom of the view.
    struct Anchor: Sendable, Equatable {
        var id: EntryID
        /// The number of rows of the entry that are hidden below.
        var hidden: Int
    }

    /// The place from which a message of a list was shown, to which Esc returns.
    struct Origin: Sendable {
        /// `nil` if the end was shown.
        var anchor: Anchor?
        /// The message at the anchor or before it, which can be loaded again.
        var message: ChatMessage?
    }

    /// The limits of the loaded part.
    static let entryLimit = 3_000
    static let weightLimit = 6 << 20

    let key: ConversationKey
    var name: String
    private(set) var entries: [Entry] = []
    private var weight = 0
    /// The numbers of the loaded messages.
    private var numbers: Set<Int64> = []
    /// The number of unread messages among those that are loaded.
    private(set) var unread = 0
    /// The earliest end of a lifetime among the loaded messages. It can be that of a message which is not loaded any more.
    private(set) var nextExpiry: Timestamp?
    private var notices = 0
    /// Whether the first message of the history is loaded.
    var isComplete = false
    /// Whether the first page was read.
    var isLoaded = false
    /// Whether newer messages than the last entry are not loaded.
    private(set) var isDetached = false
    /// Whether a message was stored before the first page was read, which can be missing in it.
    var missesNews = false
    /// Whether the first unread message is shown as soon as it is known.
    var seeksUnread = true
    /// Whether the line of unread messages is not placed yet.
    var needsUnreadLine = true
    /// `nil` if the end is shown.
    var anchor: Anchor?
    var selection: EntryID?
    var origin: Origin?
    /// The message of a list that is shown, until the view moves.
    var found: EntryID?
    /// The first message that was unread when the conversation was opened, and the number of unread ones then.
    var unreadLine: (number: Int64, count: Int)?
    /// The view that begins with this line, until it is moved.
    var unreadAnchor: Anchor?
    /// The parts of the history that were on the screen.
    var seen = SeenParts()
    /// Whether messages were seen that are not marked yet, and can be marked.
    var hasUnmarked = false
    /// Whether all unread messages before the first one were seen, or none is there.
    var startsAtUnread = false

    init(_ key: ConversationKey, name: String) { (self.key, self.name) = (key, name) }

    var messages: [ChatMessage] { entries.compactMap(\.message) }

    /// The names of the authors by id, as their messages have them.
    var names: [String: String] {
        Dictionary(
            messages.lazy.filter { $0.hasName && !$0.author.isEmpty }.map { ($0.author, $0.name) },
            uniquingKeysWith: { $1 })
    }

    var firstNumber: Int64? { entries.lazy.compactMap(\.message).first?.number }

    var lastNumber: Int64? { entries.last { $0.message != nil }?.message?.number }

    /// The present place.
    var place: Origin {
        guard let anchor else { return Origin() }
        let shown = index(of: anchor.id).map { entries[...$0] } ?? []
        return Origin(anchor: anchor, message: shown.last { $0.message != nil }?.message)
    }

    /// Whether the order of an entry is in the loaded part, or directly next to it.
    private func covers(_ order: (Int64, Int64, Int)) -> Bool {
        if !isComplete, let first = entries.first(where: { $0.message != nil }),
            order < first.order
        {
            return false
        }
        guard isDetached, let last = entries.last else { return true }
        return order < last.order
    }

    func index(of id: EntryID) -> Int? {
        if case .message(let number) = id, !numbers.contains(number) { return nil }
        // The place is not known from the id, and the newest entries are asked for most.
        return entries.lastIndex { $0.id == id }
    }

    func message(_ number: Int64) -> ChatMessage? {
        index(of: .message(number)).flatMap { entries[$0].message }
    }

    /// Returns the first words of what a reply quotes: the text in it, else a loaded message such as a file. `nil` if it has none.
    func quotation(in reply: ChatMessage) -> String? {
        guard let quote = reply.quote else { return nil }
        if let text = quote.text { return text }
        guard quote.doubt == nil else { return nil }
        let quoted = entries.lazy.compactMap(\.message).first {
            $0.id == quote.id && ($0.author == quote.from || $0.author.isEmpty) && !$0.isDeleted
        }
        return quoted?.summary
    }

    /// The newest own message that can be edited.
    var lastOwn: ChatMessage? {
        entries.lazy.reversed().compactMap(\.message).first {
            guard $0.isOwn, !$0.isDeleted, case .text = $0.content else { return false }
            return true
        }
    }

    /// The own messages among the newest whose fate is not known yet.
    var waiting: [ChatMessage] {
        entries.suffix(ChatState.pageSize).compactMap(\.message).filter {
            $0.isOwn && !$0.isDeleted && ($0.fate == .unsent || $0.fate == .queued)
        }
    }

    /// The message that a number of a command means: a number of the history, or -1 for the last one.
    func message(named word: Substring) -> ChatMessage? {
        guard let number = Int64(word) else { return nil }
        if number > 0 { return message(number) }
        guard number < 0, number > -10_000 else { return nil }
        let named = entries.lazy.reversed().compactMap(\.message).filter { !$0.isDeleted }
            .dropFirst(Int(-number - 1))
        return named.first
    }

    /// The typed text with a number.
    func pending(_ number: Int) -> ChatState.Pending? {
        guard let index = index(of: .pending(number)),
            case .pending(let text) = entries[index].content
        else { return nil }
        return text
    }

    // MARK: Changes

    /// Whether an own message with the id of an envelope is loaded.
    func hasOwn(_ id: String) -> Bool {
        entries.lazy.reversed().compactMap(\.message).contains { $0.isOwn && $0.id == id }
    }

    /// Adds a typed text, or replaces the one of its number. Messages that come later stand below it.
    mutating func add(_ text: ChatState.Pending) {
        remove(pending: text.number)
        // The last entry of a part tells what can follow it.
        guard !isDetached else { return }
        insert(Entry(content: .pending(text), order: (text.time.seconds, .max, text.number)))
    }

    /// Adds a change of the group, or replaces the words of the same one, as ``add(_:extends:)`` does.
    mutating func add(_ change: GroupChangeLine, extends: Bool = false) {
        if let index = index(of: .change(change.id)) {
            entries[index].content = .change(change)
            return
        }
        let entry = Entry(content: .change(change), order: (change.time.seconds, change.number, 0))
        guard extends || covers(entry.order) else { return }
        insert(entry)
        if !extends { trim() }
    }

    /// Removes a typed text.
    mutating func remove(pending number: Int) {
        guard let index = index(of: .pending(number)) else { return }
        if selection == .pending(number) { selection = nil }
        if anchor?.id == .pending(number) {
            anchor = index > 0 ? Anchor(id: entries[index - 1].id, hidden: 0) : nil
        }
        entries.remove(at: index)
    }

    /// The number of loaded messages.
    var messageCount: Int { numbers.count }

    /// Whether the message with a number is loaded.
    func has(_ number: Int64) -> Bool { numbers.contains(number) }

    /// Adds a message, or replaces the one of its number.
    ///
    /// `extends` tells that it is part of a page next to the loaded part; ``trim()`` follows after the page. Any other message is left
    /// out if messages between it and the loaded part can be missing.
    mutating func add(_ message: ChatMessage, extends: Bool = false) {
        if let index = index(of: .message(message.number)), let old = entries[index].message {
            var message = message
            // A record from before the marking must not take it back.
            if !old.isUnread { message.isUnread = false }
            // The record of a deleted message can have no author, and has no time of writing.
            if message.isDeleted {
                message.time = old.time
                if !message.hasName { (message.author, message.name) = (old.author, old.name) }
            }
            if old.place == message.place { return replace(at: index, with: message) }
            remove(at: index)
            return add(message, extends: extends)
        }
        guard extends || covers(Self.order(message)) else { return }
        insert(message)
        if !extends { trim() }
    }

    mutating func replace(at index: Int, with message: ChatMessage) {
        count(entries[index], -1)
        entries[index].content = .message(message)
        count(entries[index], 1)
    }

    private mutating func remove(at index: Int) {
        count(entries[index], -1)
        entries.remove(at: index)
    }

    /// The highest number of a loaded message.
    var lastLoaded: Int64? { numbers.max() }

    /// Removes the messages up to a number that the history has no more. `page` has the numbers of its newest messages.
    mutating func removeMissing(in page: Set<Int64>, upTo last: Int64) {
        let known = entries.firstIndex { $0.message.map { page.contains($0.number) } ?? false }
        guard let first = page.isEmpty ? entries.startIndex : known else { return }
        for index in entries.indices[first...].reversed() {
            guard let number = entries[index].message?.number, number <= last,
                !page.contains(number)
            else { continue }
            if selection == entries[index].id { selection = nil }
            if anchor?.id == entries[index].id {
                anchor = index > 0 ? Anchor(id: entries[index - 1].id, hidden: 0) : nil
            }
            remove(at: index)
        }
    }

    /// Adds an entry to the counters, or subtracts it.
    private mutating func count(_ entry: Entry, _ sign: Int) {
        guard let message = entry.message else { return }
        weight += sign * message.weight
        if message.isUnread { unread += sign }
        if sign > 0, let end = message.expires { nextExpiry = min(nextExpiry ?? end, end) }
        if sign > 0 { numbers.insert(message.number) } else { numbers.remove(message.number) }
    }

    private static func order(_ message: ChatMessage) -> (Int64, Int64, Int) {
        (message.order.time, message.order.number, 0)
    }

    private mutating func insert(_ message: ChatMessage) {
        insert(Entry(content: .message(message), order: Self.order(message)))
    }

    private mutating func insert(_ entry: Entry) {
        var (low, high) = (0, entries.count)
        if let last = entries.last, last.order < entry.order { low = high }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].order < entry.order { low = middle + 1 } else { high = middle }
        }
        entries.insert(entry, at: low)
        count(entry, 1)
    }

    /// Adds a line at the end.
    mutating func tell(_ text: String, at time: Timestamp) {
        guard !isDetached else { return }
        notices += 1
        let last = entries.last?.order ?? (0, 0, 0)
        let notice = Notice(number: notices, time: time, text: text)
        let seconds = max(last.0, time.seconds)
        insert(Entry(content: .notice(notice), order: (seconds, max(last.1, 0), notices)))
        trim()
    }

    /// The entries on each side of the view that are always kept.
    private static let margin = 60

    /// Drops what is far from the view, if too much is kept: a part at once, so that most messages cost nothing.
    mutating func trim() {
        guard isTooLarge(without: 0, percent: 100) else { return }
        let isNearStart = viewPlace < entries.count / 2
        for fromStart in [!isNearStart, isNearStart] { drop(fromStart: fromStart) }
    }

    /// The place of the last entry in the view.
    private var viewPlace: Int { anchor.flatMap { index(of: $0.id) } ?? entries.count - 1 }

    private func isTooLarge(without count: Int, percent: Int) -> Bool {
        entries.count - count > Self.entryLimit * percent / 100
            || weight > Self.weightLimit * percent / 100
    }

    private mutating func drop(fromStart: Bool) {
        let room = (fromStart ? viewPlace : entries.count - 1 - viewPlace) - Self.margin
        let wasKnown = isFirstUnreadKnown
        var count = 0
        var areSeen = true
        while count < room, isTooLarge(without: count, percent: 90) {
            let entry = entries[fromStart ? count : entries.count - 1 - count]
            if let message = entry.message, message.isUnread {
                areSeen = areSeen && seen.part(with: message.order) != nil
            }
            self.count(entry, -1)
            count += 1
        }
        guard count > 0 else { return }
        if fromStart {
            entries.removeFirst(count)
            (isComplete, startsAtUnread) = (false, wasKnown && areSeen)
        } else {
            entries.removeLast(count)
            isDetached = true
        }
    }

    /// Forgets the loaded messages, so that the newest page is read again.
    mutating func reset() {
        (entries, weight, numbers, unread) = ([], 0, [], 0)
        (isComplete, isLoaded, isDetached, startsAtUnread) = (false, false, false, false)
        (anchor, selection) = (nil, nil)
    }

    /// Forgets the loaded messages except one, around which others are read.
    mutating func reset(to message: ChatMessage) {
        reset()
        insert(message)
        (isLoaded, isDetached, seeksUnread) = (true, true, false)
    }

    /// Begins or ends to take messages after the last entry.
    mutating func attach(_ isAttached: Bool) { isDetached = !isAttached }

    /// Removes the content of the messages whose lifetime has ended.
    mutating func expire(at now: Timestamp) {
        guard let next = nextExpiry, next <= now else { return }
        nextExpiry = nil
        for index in entries.indices {
            guard var message = entries[index].message, let end = message.expires else { continue }
            if end <= now {
                message.expire()
                replace(at: index, with: message)
            } else {
                nextExpiry = min(nextExpiry ?? end, end)
            }
        }
    }

    /// Sets what became of the own message with an envelope's id.
    mutating func set(_ fate: ChatMessage.Fate, ofID id: String) {
        guard
            let index = entries.lastIndex(where: {
                guard let message = $0.message else { return false }
                return message.isOwn && message.id == id
            }), var message = entries[index].message
        else { return }
        if let old = message.fate, [.stored, .delivered, .read].contains(old), fate != .failed {
            return
        }
        message.fate = fate
        replace(at: index, with: message)
    }
}
