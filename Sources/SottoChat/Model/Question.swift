import Sotto

/// A question that only a key chord answers.
struct Question: Sendable, Hashable {
    enum Subject: Sendable, Hashable {
        case request(id: String)
        case invitation(group: String)
        case grant(group: String, member: String)
        case delete(ConversationKey, number: Int64)
        case leave(group: String)
        case remove(group: String, member: String)
        case block(id: String)
    }

    var subject: Subject
    var text: String
    /// The effects of Ctrl-Y and Ctrl-N.
    var yes: String
    var no: String

    /// Whether the user asked for what it is about. Such a question is asked at once, and is dropped without an answer.
    var isOwn: Bool {
        switch subject {
        case .delete, .leave, .remove, .block: true
        case .request, .invitation, .grant: false
        }
    }
}

/// The questions that wait for an answer.
struct Questions: Sendable {
    private(set) var waiting: [Question] = []
    /// The subjects that were put off until they are asked for again.
    private var later: Set<Question.Subject> = []
    /// When the first question came to the screen.
    private(set) var shownAt: Timestamp?
    private static let limit = 200

    var first: Question? { waiting.first }

    mutating func ask(_ question: Question, at now: Timestamp) {
        guard waiting.count < Self.limit, !later.contains(question.subject) else { return }
        if let index = waiting.firstIndex(where: { $0.subject == question.subject }) {
            waiting[index] = question
            return
        }
        if question.isOwn { waiting.insert(question, at: 0) } else { waiting.append(question) }
        if waiting.first == question { shownAt = now }
    }

    /// Whether a chord now means the first question: it must have been on the screen in an earlier second, unless the user caused it.
    func canAnswer(at now: Timestamp) -> Bool {
        guard let first, let shownAt else { return false }
        return first.isOwn || now.seconds != shownAt.seconds
    }

    /// Removes the first question, and returns it.
    mutating func take(at now: Timestamp) -> Question? {
        guard !waiting.isEmpty else { return nil }
        shownAt = now
        return waiting.removeFirst()
    }

    /// Puts a question off, which is not asked again before ``reset()``.
    mutating func putOff(_ question: Question) {
        if !question.isOwn { later.insert(question.subject) }
    }

    /// Removes the questions of a kind whose subject does not wait any more.
    mutating func keep(_ keeps: (Question.Subject) -> Bool, at now: Timestamp) {
        let old = waiting.first
        waiting.removeAll { !keeps($0.subject) }
        if waiting.first != old { shownAt = now }
    }

    /// Asks those again that were put off.
    mutating func reset() { later = [] }
}
