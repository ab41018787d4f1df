import Sotto
import SottoState
import SottoTool

/// Takes the messages that their author sends again.
extension MessageOpening {
    /// Takes the messages that are sent again in a message, each on its own: one that is refused fails nothing else. Returns the
    /// line of the first one. The record that is stored of the message itself has their ids. `envelope` has the id and the digest
    /// that recognise its repeats.
    func take(
        _ repeated: RepeatedMessages, of message: Message, in group: GroupID?,
        _ envelope: (id: String, digest: [UInt8]), _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard message.authenticated, let author = message.from else {
            throw Failure(.malformed, "messages that are sent again have no authenticated author")
        }
        var lines = try repeated.messages.map { object in
            try caught(message.id, .success(object)) { object in
                try open(again: object, of: message, transaction)
            }
        }
        // Only a record of a history has ids in their place.
        guard !lines.isEmpty else { throw BodyError.member(RepeatedMessages.type) }
        let first = lines.removeFirst()
        self.repeated += lines
        var recorded = message
        recorded.body = message.body.recorded(in: group, by: author, of: message.id)
        try transaction.recordOpened(id: envelope.id, digest: envelope.digest, recorded)
        return first
    }

    /// Returns the lines of the messages that were sent again, and forgets them.
    func takeRepeated() -> [OpenedLine] {
        defer { repeated = [] }
        return repeated
    }

    private func open(
        again object: JSONObject, of container: Message, _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard let earlier = try? EarlierMessage(object) else {
            throw BodyError.member(RepeatedMessages.type)
        }
        guard let message = try transaction.message(earlier, in: container) else {
            return .dropped
        }
        switch try transaction.known(message) {
        case .new:
            let number = try transaction.recordRepeated(message)
            return transaction.deletedOnArrival.contains(number)
                ? .dropped : .message(message, number: number, seen: false)
        case .same(let number, let record):
            let (known, verdict) = try senderPolicy.recall(record, transaction)
            return verdict == .blocked ? .dropped : .message(known, number: number, seen: true)
        case .deleted: return .dropped
        case .different: throw Failure.differentContent
        }
    }
}

extension Message {
    /// The messages that its author sends again in the message, or `nil`. Throws ``BodyError``.
    var repeatedMessages: RepeatedMessages? {
        get throws {
            guard body["type"]?.string == RepeatedMessages.type,
                case .history(let repeated) = try MessageBody(body).kind
            else { return nil }
            return repeated
        }
    }
}

extension Failure {
    static let differentContent = Failure(
        .replay, "a message with this id was opened before, with different content",
        hint:
            "its author's state can be an earlier copy; ask the author to write it again as a new message"
    )
}
