/// Actions that the tools would refuse. They are refused before a question and before a text is typed for them.
extension ChatState {
    /// The reason why nothing can be sent to a conversation; `nil` if nothing known speaks against it.
    func obstacle(in key: ConversationKey) -> String? {
        switch key {
        case .person(let id):
            guard let contact = list.contact(id) else { return nil }
            if contact.isBlocked {
                return "\(contact.name) is blocked, and an answer is dropped; /unblock ends it"
            }
            return contact.keyChange
        case .group(let id):
            guard let group = list.group(id) else { return nil }
            return group.obstacle ?? group.obstacle(to: "writing", needing: group.post)
        case .chat: return nil
        }
    }

    /// The reason why an action on a message must fail, with what is possible; `nil` if nothing known speaks against it.
    func obstacle(to action: SlashCommand, _ message: ChatMessage) -> String? {
        guard action != .info else { return nil }
        if message.isDeleted { return "the message was deleted" }
        guard message.hasContent else {
            return "this line tells an event: only a message can be meant"
        }
        switch action {
        case .save: return message.hasFile ? nil : "this message has no file"
        case .copy: return message.plainText == nil ? "this message has no text" : nil
        case .forward:
            return message.isForwardable ? nil : "only a text or a file can be forwarded"
        default: break
        }
        if case .chat = message.key {
            return "the messages of a chat with a phrase have no authors to refer to"
        }
        if let obstacle = obstacle(in: message.key) { return obstacle }
        if action == .edit, !message.isOwn || message.plainText == nil {
            return "only your own texts can be changed"
        }
        guard !message.isOwn else { return nil }
        switch action {
        case .delete: return obstacle(toChangeOf: message, "deleting the messages of others")
        case .pin, .unpin:
            return message.key.isGroup
                ? obstacle(toChangeOf: message, "pinning the messages of others") : nil
        default: return nil
        }
    }

    /// The reason why a message of another person cannot be deleted or pinned.
    private func obstacle(toChangeOf message: ChatMessage, _ what: String) -> String? {
        let here = "; to delete it only here: sotto history delete \(message.number)"
        switch message.key {
        case .group(let id):
            guard let obstacle = list.group(id)?.obstacle(to: what, needing: list.group(id)?.pin)
            else { return nil }
            return obstacle + (what.hasPrefix("deleting") ? here : "")
        case .person, .chat:
            return "only \(message.name) can delete this message on both sides" + here
        }
    }

    /// The reason why the lifetime of messages cannot be set.
    func obstacle(toTimerIn key: ConversationKey) -> String? {
        switch key {
        case .group(let id):
            guard let group = list.group(id) else { return nil }
            return group.obstacle ?? group.obstacle(to: "the timer", needing: group.edit)
        case .person: return obstacle(in: key)
        case .chat: return nil
        }
    }

    // MARK: Groups

    /// Whether no member of the open group reads the messages of the user. A later grant shows the earlier ones too.
    var lacksReaders: Bool {
        !members.isEmpty && !members.contains(where: \.readsMe)
    }

    /// The reason why messages cannot be shown to a member.
    func obstacle(toGrant id: String, in group: ChatGroup) -> String? {
        if let obstacle = group.obstacle { return obstacle }
        if members.contains(where: { $0.id == id && $0.isMe }) {
            return "these are your own messages"
        }
        guard group.asksForGrants else {
            return "the rules of this group, and not you, decide who sees your messages"
        }
        return isInvited(id) ? "\(name(of: id)) has not joined" : nil
    }

    /// The reason why a person cannot be removed, or an invitation cannot be taken back.
    func obstacle(toRemove id: String, from group: ChatGroup) -> String? {
        if let obstacle = group.obstacle { return obstacle }
        guard let member = members.first(where: { $0.id == id }) else { return nil }
        if member.isMe { return "/leave ends your own membership" }
        if let obstacle = group.obstacle(to: "removing members", needing: "moderator") {
            return obstacle
        }
        guard ChatGroup.order(member.role) >= ChatGroup.order(group.rank) else { return nil }
        return "\(member.name) has the rank \(member.role), and yours is \(group.rank): "
            + "only members with a lower rank can be removed"
    }

    /// The reason why a person cannot be invited.
    func obstacle(toInvite name: String, to group: ChatGroup) -> String? {
        if let obstacle = group.obstacle { return obstacle }
        let known = members.first { $0.name.lowercased() == name.lowercased() && !$0.isInvited }
        if let known { return known.isMe ? "you are a member" : "\(known.name) is a member" }
        return group.obstacle(to: "inviting", needing: group.add)
    }
}

extension ChatGroup {
    /// Returns the place of a rank among all, the lowest first.
    static func order(_ rank: String) -> Int { ranks.firstIndex(of: rank) ?? 0 }

    /// The reason why the user can do nothing in the group.
    var obstacle: String? {
        if isDeleted { return "the group was deleted" }
        switch standing {
        case "member": return nil
        case "invited": return "you have not joined; /questions asks"
        default: return "you are not a member of the group"
        }
    }

    /// The reason why the user's rank does not permit something.
    func obstacle(to what: String, needing least: String?) -> String? {
        guard let least, Self.order(rank) < Self.order(least) else { return nil }
        return "your rank here is \(rank); \(what) needs the rank \(least)"
    }
}
