import SottoBytes

/// The first row.
extension ChatState {
    var header: [Screen.Span] {
        let (left, facts) = conversation.map(headerOfConversation) ?? ("sotto chat", headerOfList)
        var style = Screen.Style.reversed
        style.isBold = true
        let trouble = self.trouble
        let right = rightOfHeader
        let end = trouble.map { " \($0) " } ?? ""
        let room = options.columns - Cells.width(right) - Cells.width(end)
        // Another person chooses the name of a group. The name has no two spaces before words that look like facts, and leaves room
        // for the facts.
        let words = facts.isEmpty ? "" : "  " + facts.joined(separator: " · ")
        let name = " " + left.split(separator: " ").joined(separator: " ")
        let nameRoom = max(8, min(room / 5, Cells.width(name)), room - Cells.width(words))
        let text = Cells.cut(Cells.cut(name, to: nameRoom) + words, to: max(8, room))
        let shown = MessageRows.padded(text, max(0, room))
        var alert = Screen.Style.alert
        alert.isReversed = true
        return [Screen.Span(shown, style), Screen.Span(end, alert), Screen.Span(right, style)]
    }

    private var headerOfList: [String] {
        let online =
            !hasSignals
            ? []
            : Set(signals.keys.filter { $0.kind == .presence }.map(\.id)).compactMap {
                list.contact($0)?.name
            }
        return online.isEmpty
            ? [] : ["online: " + online.sorted().prefix(5).joined(separator: ", ")]
    }

    private func headerOfConversation(_ open: Conversation) -> (String, [String]) {
        var (name, facts) = (open.name, [String]())
        switch open.key {
        case .person(let id):
            if id == ownID { return (name, ["notes to yourself"]) }
            guard let contact = list.contact(id) else {
                return (name, list.areContactsLoaded ? ["not a contact"] : [])
            }
            facts.append(
                contact.hasChangedKey
                    ? "CHANGED KEY" : contact.isVerified ? "verified" : "not verified")
            if contact.isBlocked { facts.append("blocked") }
            facts.append(contact.hasForwardSecrecy ? "forward secrecy" : "no forward secrecy yet")
            if contact.lacksCard { facts.append("no card") }
            if isOn(.presence, id, nil), hasSignals { facts.append("online") }
        case .group(let id):
            name = "# " + name
            guard let group = list.group(id) else { break }
            if group.isDeleted { return (name, ["deleted for all"]) }
            let isMember = group.standing == "member"
            if isMember { facts.append(Words.count(group.members, "member")) }
            facts.append(isMember ? "you: \(group.rank)" : "you are not a member")
            if group.isUnconfirmed { facts.append("unconfirmed") }
            if let timer = group.timer { facts.append("messages end after \(Words.time(timer))") }
        case .chat: facts.append("a phrase; authors are not authenticated")
        }
        if let timer = list.conversation(open.key)?.timer {
            facts.append("messages end after \(Words.time(timer))")
        }
        return (name, facts)
    }

    func isOn(_ kind: Signal.Kind, _ id: String, _ key: ConversationKey?) -> Bool {
        signals[Signal(id: id, kind: kind, key: key)] != nil
    }

    /// The present trouble in a few words.
    var trouble: String? {
        if let trouble = receptionWords { return trouble }
        if strandedWords != nil { return isNarrow ? "no relay" : "messages cannot leave" }
        if let trouble = relayWords { return trouble }
        if sender.restart != nil { return "send starts again" }
        if isRelaySilent { return "\(relayName) does not answer" }
        return nil
    }

    /// The trouble because of which nothing is received.
    private var receptionWords: String? {
        if isLocked { return "locked" }
        if news.restart != nil { return "history starts again" }
        if receptionTrouble != nil {
            return isReconnecting ? "reconnecting" : "your relay \(unreached)"
        }
        return presentMailTrouble == nil ? nil : "no mail is received"
    }

    /// The reason why messages to the open conversation cannot leave, and what to do.
    var strandedWords: String? {
        guard case .person(let id)? = conversation?.key, let contact = list.contact(id),
            contact.lacksCard && !options.hasStandardRelay || stranded.contains(id),
            !relayTroubles.relays.values.contains(where: { $0.people.contains(id) })
        else { return nil }
        return contact.lacksCard
            ? "\(contact.name)'s card is not here, so nothing can be sent: ask for the card, then sotto add FILE, and write again"
            : "what waits for \(contact.name) names no relay: write again; if it still waits, ask for a card with a relay, then sotto add FILE"
    }

    private var isNarrow: Bool { options.columns < 60 }

    private var unreached: String { isNarrow ? "gone" : "not reached" }

    /// Whether the signals of other people come.
    var hasSignals: Bool { receptionWords == nil }

    /// The trouble with a relay of other people: that of the open conversation, else the only one.
    private var relayTrouble: (key: String, value: RelayTroubles.Trouble)? {
        let all = relayTroubles.relays
        let open = conversation?.key.who ?? ""
        return all.first { $0.value.people.contains(open) } ?? (all.count == 1 ? all.first : nil)
    }

    /// The reason of the trouble that the header has.
    var relayTroubleReason: String? { relayTrouble?.value.reason }

    private var relayWords: String? {
        guard let (address, trouble) = relayTrouble else {
            let count = relayTroubles.relays.count
            return count > 0 ? "\(count) relays \(unreached)" : nil
        }
        let state = trouble.answers ? isNarrow ? "full" : "takes nothing now" : unreached
        let open = conversation?.key.who ?? ""
        let person = trouble.people.contains(open) ? open : trouble.people.first
        if trouble.people.count == 1 || person == open,
            let name = person.flatMap({ list.contact($0)?.name })
        {
            return "\(relay(of: name)) \(state)"
        }
        let host = address.pieces(between: "://").last.map(String.init) ?? ""
        let limit = max(8, options.columns / 3)
        return host.isEmpty ? "a relay \(state)" : "\(Cells.line(host, limit: limit)) \(state)"
    }

    /// The relay of the open conversation.
    private var relayName: String {
        guard case .person(let id)? = conversation?.key, let contact = list.contact(id) else {
            return "a relay"
        }
        return relay(of: contact.name)
    }

    private func relay(of name: String) -> String {
        Cells.line(name, limit: max(6, options.columns / 6)) + "'s relay"
    }

    /// The reason why recv and decrypt do not run now.
    var presentMailTrouble: String? { mail.id == nil ? mailTrouble : nil }

    private var rightOfHeader: String {
        (unsent.isEmpty ? "" : " \(unsent.count) not sent ")
            + (waiting > 0 ? " \(waiting) waiting " : "") + unreadElsewhere
    }

    private var unreadElsewhere: String {
        let (messages, conversations) = list.unread(besides: conversation?.key)
        guard messages > 0 else { return "" }
        if conversation == nil { return " \(messages) unread " }
        return options.columns < 60
            ? " +\(messages) " : " \(messages) unread in \(Words.count(conversations, "other")) "
    }
}
