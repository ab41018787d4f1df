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
    /// The question on the screen, and since when, in milliseconds of the monotonic clock.
    private var painted: (question: Question, since: Int64)?
    /// The question that the user asked last. It needs no time to be read.
    private var asked: Question.Subject?
    private static let limit = 200
    /// The time for which a question is on the screen before a chord answers it, in milliseconds.
    private static let readingTime: Int64 = 1_000

    var first: Question? { waiting.first }

    mutating func ask(_ question: Question) {
        guard !later.contains(question.subject) else { return }
        if question.isOwn {
            waiting.removeAll { $0.subject == question.subject }
            waiting.insert(question, at: 0)
            asked = question.subject
        } else if let index = waiting.firstIndex(where: { $0.subject == question.subject }) {
            waiting[index] = question
        } else if waiting.count < Self.limit {
            waiting.append(question)
        }
    }

    /// Makes the question about a subject the first one.
    mutating func bringForward(_ subject: Question.Subject) {
        guard let place = waiting.firstIndex(where: { $0.subject == subject }) else { return }
        waiting.insert(waiting.remove(at: place), at: 0)
    }

    /// Notes the question that the terminal shows, or that it shows none. A question with another text is another one.
    mutating func notePainted(_ question: Question?, at milliseconds: Int64) {
        guard question != painted?.question else { return }
        painted = question.map { ($0, milliseconds) }
    }

    /// Whether a chord now means the first question: the user could read it, or has just asked it.
    func canAnswer(at milliseconds: Int64) -> Bool {
        guard let first, let painted, painted.question == first else { return false }
        return first.subject == asked || milliseconds - painted.since >= Self.readingTime
    }

    /// Removes the first question, and returns it.
    mutating func take() -> Question? {
        asked = nil
        return waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// Puts a question off, which is not asked again before ``reset()``.
    mutating func putOff(_ question: Question) {
        if !question.isOwn { later.insert(question.subject) }
    }

    /// Removes the questions of a kind whose subject does not wait any more.
    mutating func keep(_ keeps: (Question.Subject) -> Bool) {
        waiting.removeAll { !keeps($0.subject) }
    }

    /// Asks those again that were put off.
    mutating func reset() { later = [] }
}
