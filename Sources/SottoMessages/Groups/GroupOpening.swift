import SottoContacts
package import Sotto
package import SottoState
import SottoTool

/// Opens the messages of groups, and the messages about groups.
extension MessageOpening {
    /// Takes the body about a group of a message. The record that is stored and printed has the events, and no keys.
    ///
    /// `isAdmitted` tells that the sender's messages are accepted for another reason than the group. If that
    /// is false and the group does not name the sender, the session and the message are not stored.
    func take(
        _ body: GroupBody, _ message: Message, isAdmitted: Bool, _ step: StateTransaction.Step?,
        _ envelope: (id: String, repeatID: String, digest: [UInt8]),
        _ transaction: StateTransaction
    ) throws -> OpenedLine {
        guard let sender = message.from else { return .dropped }
        guard !isPreview else {
            return .message(message.redacted(body.group, events: []), number: nil, seen: false)
        }
        let news: GroupNews?
        do {
            // A chain is that of a device.
            news = try transaction.take(body, from: message.device ?? sender)
        } catch GroupError.tooManyInvitations {
            if let step, isAdmitted { try transaction.keep(step) }
            throw GroupError.tooManyInvitations
        }
        if let step, isAdmitted || news?.isSenderNamed == true { try transaction.keep(step) }
        if news?.isSenderNamed == true { try transaction.take(cardIn: body, of: sender) }
        try transaction.forgetRequest(id: envelope.id)
        guard news?.isRecorded ?? isAdmitted else { return .dropped }
        let events = news?.events ?? []
        let redacted = message.redacted(body.group, named: news?.group.name, events: events)
        let number = try transaction.recordOpened(
            id: envelope.repeatID, digest: envelope.digest, redacted)
        let isBlocked = try transaction.contact(of: message)?.isBlocked ?? false
        guard !events.isEmpty, !isBlocked || redacted.groupDoubt != nil else { return .dropped }
        return .message(redacted, number: number, seen: false)
    }

    /// Returns the events of a file from a member, and the messages that waited for its changes.
    func lines(
        of news: GroupNews, from sender: KeyID, _ transaction: StateTransaction
    ) throws -> [OpenedLine] {
        var lines: [OpenedLine] = []
        if let recorded = try transaction.record(news, from: sender) {
            var message = recorded.message
            let contact = try transaction.contact(of: message)
            // If --from or --trust refuses the sender, the events are left out.
            let verdict = try? senderPolicy.decide(&message, contact: contact, hasContacts: false)
            if verdict == .accepted {
                lines.append(.message(message, number: recorded.number, seen: false))
            }
        }
        return try lines + openHeld(transaction)
    }

    /// Opens a message of a group. Returns `nil` if it is kept until its chain arrives, or the changes that give its author the
    /// rank for it.
    func open(
        group envelope: Envelope, _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        do {
            let place = try transaction.place(of: envelope)
            let earlier = try transaction.opened(
                id: place.id, digest: place.digest, isOfGroup: true)
            if let line = try repeated(earlier, envelope.id, transaction) { return line }
            if case .different = earlier {
                throw Failure.differentContent
            }
            let step = try transaction.open(place, of: envelope)
            if let wait = step.wait, !isPreview, try transaction.store(namedBy: wait) {
                return try open(group: envelope, transaction)
            }
            guard !step.isRefused else {
                // It is judged once. Its author is not asked for it again.
                if !isPreview { try transaction.keep(step) }
                let author =
                    try transaction.contact(of: step.message)?.name
                    ?? place.author.description.prefix(16) + "…"
                let name = try transaction.shownName(of: place.group.id)
                throw GroupError.refusedMessage(author: author, group: name)
            }
            var message = step.message
            if step.isStateDifferent {
                message.details?["state"] = .string("different")
            }
            let contact = try transaction.contact(of: message)
            // The group admits its members. --trust and --from still apply.
            let verdict = try senderPolicy.decide(&message, contact: contact, hasContacts: false)
            let malformed = message.malformedBody
            if isPreview, malformed == nil { return .message(message, number: nil, seen: false) }
            if !isPreview { try transaction.keep(step) }
            guard verdict == .accepted else { return .dropped }
            if let malformed { return .failed(malformed, id: envelope.id, isFinal: true) }
            if case .repeated(let number, let record) = earlier {
                guard message.isSame(as: record) else { throw Failure.differentContent }
                return .message(message, number: number, seen: true)
            }
            if let repeated = try message.repeatedMessages {
                return try take(
                    repeated, of: message, in: place.group.id, (place.id, place.digest),
                    transaction)
            }
            if message.from == transaction.owner.id {
                // Another device of the owner wrote it.
                try noteHeard(message, transaction)
                guard try !transaction.hasSent(message.id) else { return .dropped }
                let number = try transaction.recordSent(message, state: .sentElsewhere)
                try transaction.passOn(step, number: number)
                return .message(message, number: number, seen: false)
            }
            let number = try transaction.recordOpened(
                id: place.id, digest: place.digest, message)
            try transaction.passOn(step, number: number)
            return transaction.deletedOnArrival.contains(number)
                ? .dropped : .message(message, number: number, seen: false)
        } catch GroupChainError.noKey where !isPreview {
            // The chain came again and begins later. The author is asked for the message.
            try transaction.noteMissed(envelope)
            return .dropped
        } catch let wait as StateTransaction.GroupWait {
            guard !isPreview else {
                let failure = Failure(
                    .noKey, "the message waits for keys or changes of its group",
                    hint: "they are in other messages, which are not opened yet")
                return .failed(failure, id: envelope.id, isFinal: false)
            }
            if try transaction.store(namedBy: wait) {
                return try open(group: envelope, transaction)
            }
            try transaction.hold(envelope, wait)
            return nil
        }
    }

    /// Opens the held messages of groups if a chain or changes arrived in this transaction, and ends those that waited too
    /// long.
    func openHeld(_ transaction: StateTransaction) throws -> [OpenedLine] {
        var opened = try transaction.triesHeldMessages() ? openWaiting(transaction) : []
        for envelope in try transaction.endHolds() {
            let failure = Failure(
                .untrusted,
                "the message is lost: changes of its group did not arrive within a week",
                hint: "ask its author to write it again")
            opened.append(.failed(failure, id: envelope.id, isFinal: true))
        }
        return opened
    }

    private func openWaiting(_ transaction: StateTransaction) throws -> [OpenedLine] {
        var opened: [OpenedLine] = []
        for envelope in try transaction.held() {
            let content: Result<Envelope, Failure> = .success(envelope)
            var isWaiting = false
            let line = try caught(envelope.id, content) { envelope in
                let line = try open(group: envelope, transaction)
                isWaiting = line == nil
                return line ?? .dropped
            }
            guard !isWaiting, !line.isOfDamagedGroup else { continue }
            try transaction.release(envelope)
            opened.append(line)
        }
        return opened
    }
}

extension StateTransaction {
    /// Records the events of a file that a member offered. Returns the message and its number, or `nil` without an event.
    fileprivate func record(
        _ news: GroupNews, from sender: KeyID
    ) throws -> (message: Message, number: Int64)? {
        guard !news.events.isEmpty else { return nil }
        let message = Message(
            id: Envelope.newID(), from: sender, to: owner.id, time: .now(), suite: .group,
            authenticated: true, body: [:]
        ).redacted(news.group.id, named: news.group.name, events: news.events)
        let digest = sha256(Array(message.id.utf8))
        return (message, try recordOpened(id: message.id, digest: digest, message))
    }
}

extension IdentityStore {
    /// Takes the changes in the files that `recv` fetched. The messages that waited for them are opened by the next `decrypt`.
    package func takeGroupFiles() throws {
        try takeFetchedFiles { news, sender, transaction in
            _ = try transaction.record(news, from: sender)
            try transaction.leaveHeldMessages()
        }
    }
}

extension OpenedLine {
    /// Whether the line waits until its group can be read again.
    fileprivate var isOfDamagedGroup: Bool {
        if case .failed(let failure, _, false, _) = self {
            failure.status == .ioError
        } else {
            false
        }
    }
}

extension Message {
    /// The failure to report of a message that is printed: its sender has another state of the group, or it proves that a
    /// member told two people different things.
    var groupDoubt: Failure? {
        if details?["state"]?.string == "different" {
            return Failure(
                .untrusted,
                "printed, but the sender has another state of the group with the same changes",
                hint: "compare the member state of sotto group show with that of the sender")
        }
        let fork = body["events"]?.array?.lazy.compactMap(\.object).first {
            $0["event"]?.string == "fork"
        }
        guard body["type"]?.string == GroupBody.type, let fork else { return nil }
        let name = fork["name"] ?? fork["nickname"] ?? fork["who"]
        return .fork(by: name?.string ?? "a member")
    }
}

extension Failure {
    /// The report of a fork.
    static func fork(by name: String) -> Failure {
        Failure(
            .untrusted, "\(name) signed two different changes of a group with one number",
            hint:
                "compare the output of sotto group show and sotto group log with that of other members"
        )
    }
}

extension GroupBody {
    /// Returns the record of the body for a person, for `encrypt`.
    package func record(to person: KeyID) -> JSONObject {
        [
            "v": .integer(1), "type": .string("message"), "to": .string(person.description),
            "time": .string(Timestamp.now().description), "body": .object(record),
        ]
    }

    /// Returns the body about a group of a message; `nil` if the message has another body.
    ///
    /// Throws a failure with status 65 if the message has no authenticated sender, and ``GroupChangeError``.
    init?(in message: Message) throws {
        guard message.body["type"]?.string == Self.type else { return nil }
        guard message.authenticated, message.from != nil else {
            throw Failure(.malformed, "a message about a group has no authenticated sender")
        }
        try self.init(message.body)
    }
}

extension Message {
    /// Returns the message with the events of a group in place of its body, which can contain keys.
    func redacted(
        _ group: GroupID, named groupName: String? = nil, events: [JSONObject]
    ) -> Message {
        let shown = groupName.flatMap { $0.isEmpty ? nil : JSON.string($0) }
        let body = JSONObject([
            ("type", .string(GroupBody.type)), ("group", .string(group.description)),
            ("name", shown), ("events", .array(events.map { .object($0) })),
        ])
        var message = Message(
            id: id, from: from, to: to, name: name, time: time, suite: suite,
            authenticated: authenticated, trust: trust, details: details, body: body)
        (message.group, message.device) = (group.description, device)
        return message
    }
}
