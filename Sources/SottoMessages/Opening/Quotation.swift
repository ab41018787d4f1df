package import Sotto
package import SottoState

/// The quotation of a reply. The quoted text is a claim of the reply's author.
package enum Quotation {
    /// The message is in this history, and has or had the quoted text.
    case known(MessageView)
    /// The message is in this history, and never had the quoted text.
    case different(MessageView)
    /// The message is in another conversation of this history.
    case elsewhere(isSame: Bool, claim: String?)
    /// The message was in this history, and its content is gone.
    case gone(HistoryEntry.State, claim: String?)
    /// The message is not in this history.
    case unknown(claim: String?)

    /// Returns what a message quotes, or `nil` if it is no reply.
    package init?(_ view: MessageView, _ store: IdentityStore) throws {
        guard let body = view.body else { return nil }
        try self.init(body, in: view.entry.conversation, store)
    }

    /// Returns what the body of a message of a conversation quotes, or `nil` if it is no reply.
    package init?(
        _ body: JSONObject, in conversation: Conversation, _ store: IdentityStore
    ) throws {
        guard body["reply"] != nil,
            let reply = (try? MessageBody(body, isLocal: true))?.content.reply
        else { return nil }
        let targets = try store.historyEntries(id: reply.target.id).filter {
            $0.canHave(author: reply.target.from, owner: store.owner.id)
        }
        let target = targets.first { $0.conversation == conversation } ?? targets.first
        guard let found = try target.map({ try store.views(of: [$0])[0] }) else {
            self = .unknown(claim: reply.text)
            return
        }
        guard found.body != nil else {
            self = .gone(found.entry.isGone ? found.entry.state : .deleted, claim: reply.text)
            return
        }
        // compose ends a beginning with an ellipsis.
        var claim = Substring(reply.text ?? "")
        if claim.hasSuffix("…") { claim.removeLast() }
        let isSame = found.versions.contains { version in
            [Self.text(of: version.body), version.body["text"]?.string ?? ""].contains {
                $0.utf8.starts(with: claim.utf8)
            }
        }
        if found.entry.conversation != conversation {
            self = .elsewhere(isSame: isSame, claim: reply.text)
        } else {
            self = isSame ? .known(found) : .different(found)
        }
    }

    /// Returns the member `quotation` of a message that was decrypted, or `nil` if it is no reply.
    package static func name(of message: Message, _ store: IdentityStore) throws -> String? {
        guard message.body["reply"] != nil else { return nil }
        let conversation = Conversation(of: message, owner: store.owner.id)
        return try Quotation(message.body, in: conversation, store)?.name
    }

    /// Returns the text of the present content of a message, like ``text(of:about:)``.
    package static func text(
        of view: MessageView, about target: String = TargetWords.unknown
    ) -> String {
        if view.entry.conversation.peer == nil, case .timer? = view.parsedBody?.kind {
            return MessageBody.idleTimer
        }
        return view.parsedBody?.description(about: target)
            ?? text(of: view.body ?? [:], about: target)
    }

    /// The member `quotation` of a message record.
    package var name: String {
        switch self {
        case .known, .elsewhere(isSame: true, _): "same"
        case .different, .elsewhere: "different"
        case .gone: "deleted"
        case .unknown: "unknown"
        }
    }

    /// The quoted message's present text, or the claim, and a note for the user.
    package var shown: (text: String, note: String?) {
        switch self {
        case .known(let view): (Self.text(of: view.body ?? [:]), nil)
        case .different(let view):
            (Self.text(of: view.body ?? [:]), "the reply quotes another text")
        case .elsewhere(let isSame, let claim):
            (
                claim ?? "",
                isSame
                    ? "in another conversation"
                    : "in another conversation, where the text is different"
            )
        case .gone(let state, let claim): (claim ?? "", state.goneName)
        case .unknown(let claim): (claim ?? "", "not in this history")
        }
    }

    /// The quoted message, if it is in the conversation.
    package var entry: HistoryEntry? {
        switch self {
        case .known(let view), .different(let view): view.entry
        case .elsewhere, .gone, .unknown: nil
        }
    }

    /// Returns the text of a body, or a description of it, with the words for the message that it is about.
    package static func text(
        of body: JSONObject, about target: String = TargetWords.unknown
    ) -> String {
        (try? MessageBody(body, isLocal: true))?.description(about: target) ?? body["text"]?.string
            ?? "[malformed message]"
    }
}

extension HistoryEntry {
    /// Whether a person is the author. A message without content does not name its author, who is then the peer or, in a
    /// group, any member.
    fileprivate func canHave(author: KeyID, owner: KeyID) -> Bool {
        guard isGone, direction == .received else { return self.author(owner) == author }
        return peer.map { $0 == author } ?? true
    }
}
