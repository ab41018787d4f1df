/// The unread messages of a conversation, and those of them that were on the screen.
extension Conversation {
    /// Whether no message before the first one is unread, except those that were seen. A mark counts for all messages before it, so
    /// that all messages before a received one that is read are read.
    var isFirstUnreadKnown: Bool {
        if isComplete || startsAtUnread { return true }
        let first = entries.lazy.compactMap(\.message).first(where: \.isCounted)
        return first?.isUnread == false
    }

    /// Notes that messages were on the screen, one beside the other: their numbers, the last one first.
    mutating func see(_ shown: [Int64]) {
        guard let newest = shown.first, let oldest = shown.last,
            let end = index(of: .message(newest)), let last = entries[end].message,
            let start = entries[...end].lastIndex(where: { $0.id == .message(oldest) }),
            let first = entries[start].message
        else { return }
        let part = first.order...last.order
        if seen.part(with: part.lowerBound)?.contains(part.upperBound) == true { return }
        seen.add(
            part, before: entries[..<start].last { $0.message != nil }?.message?.order,
            after: entries[(end + 1)...].first { $0.message != nil }?.message?.order)
        hasUnmarked = true
    }

    /// The number of the message up to which all unread ones were seen, from the first loaded one on; or `nil`. It can be one that is
    /// not loaded any more.
    var lastSeen: Int64? {
        let unread = unreadPlaces.compactMap { entries[$0].message }
        guard let first = unread.last, let part = seen.part(with: first.order) else { return nil }
        if isDetached, let last = entries.last(where: { $0.message != nil })?.message,
            part.upperBound > last.order
        {
            return part.upperBound.number
        }
        return unread.first { $0.order <= part.upperBound }?.number
    }

    /// The number of unread messages, if the newest one was on the screen and the first of them was not.
    var unreadAbove: Int? {
        guard unread > 0, let last = entries.last(where: { $0.message != nil })?.message,
            seen.part(with: last.order) != nil, lastSeen == nil
        else { return nil }
        return unread
    }

    /// Marks the messages up to the place of a message as read here.
    mutating func mark(upTo number: Int64) {
        // More can have been seen since this marking began.
        hasUnmarked = true
        let known =
            message(number)?.order
            ?? seen.parts.first { $0.upperBound.number == number }?.upperBound
        let isAfterAll = number > lastNumber ?? 0
        for place in unreadPlaces {
            guard var message = entries[place].message,
                known.map({ message.order <= $0 }) ?? isAfterAll
            else { continue }
            message.isUnread = false
            replace(at: place, with: message)
        }
    }

    /// The places of the unread messages, the newest first. Most are at the end, so the search ends with the last of them.
    private var unreadPlaces: [Int] {
        var places: [Int] = []
        var place = entries.count
        while places.count < unread, place > 0 {
            place -= 1
            if case .message(let message) = entries[place].content, message.isUnread {
                places.append(place)
            }
        }
        return places
    }
}
