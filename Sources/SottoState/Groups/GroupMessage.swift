package import Sotto

extension JSONObject {
    /// The body of a message without quoted text: its reply, and that of the new body of an edit, name the message only.
    fileprivate var withoutQuotation: JSONObject {
        var body = self
        if var reply = body["reply"]?.object {
            reply["text"] = nil
            body["reply"] = .object(reply)
        }
        if let edited = body["body"]?.object { body["body"] = .object(edited.withoutQuotation) }
        return body
    }
}

extension StoredGroup {
    /// Whether a reply may quote: in a group with the visibility `granted` its readers may not be permitted to read the message.
    package var permitsQuotations: Bool { state.policy.visibility != .granted }

    /// Returns a body of the owner as the members get it.
    package func sendable(_ body: JSONObject) -> JSONObject {
        permitsQuotations ? body : body.withoutQuotation
    }

    /// Whether a member of a rank may write a body. A moderator deletes and pins the messages of others. A body about a group
    /// is for one person.
    func permits(_ body: MessageBody, by author: KeyID, rank: GroupRank) -> Bool {
        switch body.kind {
        case .delete(let target), .pin(let target, _), .unpin(let target):
            target.from == author || rank >= state.policy.pin
        // A call is between two people.
        case .other(.group), .other(.repair), .call: false
        default: true
        }
    }

    /// Returns the record of a message to the group, with the name of the group, that of the author, and the number of members,
    /// at this time.
    func message(
        id: String, from author: KeyID, called nickname: String?, rank: GroupRank, time: Timestamp,
        trust: Message.Trust = .unverified, body: JSONObject, members: JSONObject = [:]
    ) -> Message {
        let facts = JSONObject([
            ("name", .string(name)), ("nickname", nickname.map { .string($0) }),
            ("members", .integer(Int64(state.ranks.count))),
        ])
        var message = Message(
            id: id, from: author, to: nil, time: time, suite: .group, authenticated: true,
            trust: trust, details: ["group": .object(facts)], body: body, members: members)
        message.group = self.id.description
        message.role = rank.name
        return message
    }
}

extension StateTransaction {
    /// Returns an authenticated message of another messenger as one of the group that it names, if the owner is a member of this group
    /// here and the author may write there; otherwise the message as it is.
    package func inGroup(_ message: Message) throws(StateError) -> Message {
        guard message.authenticated, message.group == nil, let author = message.from,
            let id = message.details?["group"]?.string.flatMap({ GroupID($0) }),
            let group = try group(id), group.standing == .member,
            let rank = group.state.ranks[author], rank >= group.state.policy.post,
            let body = try? MessageBody(message.body),
            group.permits(body, by: author, rank: rank)
        else { return message }
        var placed = message
        (placed.group, placed.role) = (id.description, rank.name)
        return placed
    }
}

extension Message {
    /// Marks a message whose author was no member any more when it was opened: nothing proves that it was written before.
    mutating func markLate() {
        var group = details?["group"]?.object ?? [:]
        group["late"] = .bool(true)
        details?["group"] = .object(group)
    }

    /// Removes the number of the group's members, so that the message gets no receipt.
    mutating func forgetMemberCount() {
        var group = details?["group"]?.object ?? [:]
        group["members"] = nil
        details?["group"] = .object(group)
    }

    /// Whether the author was no member of the group any more when the message was opened.
    package var isLate: Bool { details?["group"]?.object?["late"]?.bool ?? false }
}
