import Sotto

/// Actions that depend on the time.
extension ChatState {
    private static let typingSeconds: Int64 = 10
    /// The seconds after which a typing signal ends. The next one comes before, also if it needs two seconds.
    static let typingLifetime: Int64 = 12
    private static let presenceSeconds: Int64 = 50
    /// The most contacts that get presence signals.
    private static let presenceLimit = 20

    mutating func tick(_ time: Timestamp) {
        now = time
        if let status, status.until <= now { self.status = nil }
        for (signal, end) in signals where end <= now { signals[signal] = nil }
        conversation?.expire(at: now)
        guard isComplete, !isLocked, ending == nil, !isFinishing else { return }
        if let restart = news.restart, restart <= now {
            startNews()
            // Nothing told what was changed meanwhile.
            refreshes.formUnion(Refresh.allCases)
        }
        if let restart = mail.restart, restart <= now { startMail() }
        if let restart = sender.restart, restart <= now { startSender() }
        if let restart = outbox.restart, restart <= now { startOutbox() }
        checkFates()
        synchronise()
        tellPresence()
    }

    /// Reads the newest messages again while own ones wait, because another program can send them and the history tells nothing then:
    /// first after two seconds, later once a minute.
    private mutating func checkFates() {
        let count = conversation?.waiting.count ?? 0
        if count != fates.count {
            let next = count > 0 ? Timestamp(seconds: now.seconds + 2) : nil
            fates = FateCheck(count: count, delay: 2, next: next)
        }
        guard let next = fates.next, next <= now else { return }
        refreshes.insert(.newest)
        let isLeft = conversation?.waiting.contains { $0.isUnsent(at: now) } ?? false
        if isLeft || !unsent.isEmpty { refreshes.insert(.unsent) }
        fates.delay = min(60, fates.delay * 2)
        fates.next = Timestamp(seconds: now.seconds + fates.delay)
    }

    /// Whether the relay has not answered for a while to a message of this run. `send` tells later that it gives up.
    var isRelaySilent: Bool {
        conversation?.waiting.contains { message in
            message.fate == .unsent && message.place >= started
                && (10...120).contains(now.seconds - message.place.seconds)
        } ?? false
    }

    /// Sends missing changes to the members of groups, and asks for those that are missing here.
    private mutating func synchronise() {
        let isDue = nextSync.map { $0 <= now } ?? false
        guard isDue || isSyncWanted, !list.groups.isEmpty, !isRunning(.sync) else { return }
        isSyncWanted = false
        nextSync = Timestamp(seconds: now.seconds + Self.syncSeconds)
        run(.sync, [Pipeline.Stage("group", ["sync", "-q", "--json"]), Making.encryption])
    }

    var presenceContacts: [ChatContact] {
        Array(list.contacts.filter { $0.sendsPresence && !$0.isBlocked }.prefix(Self.presenceLimit))
    }

    private mutating func tellPresence() {
        guard let next = nextPresence, next <= now else { return }
        nextPresence = Timestamp(seconds: now.seconds + Self.presenceSeconds)
        for contact in presenceContacts {
            make("compose", ["presence", contact.id], isQuiet: true)
        }
    }

    /// Tells the other side that a text is typed, if the contact, or a contact among the members, gets such signals: at most once in ten
    /// seconds for each conversation.
    mutating func signalTyping() {
        guard let key = conversation?.key, isTypingTold(in: key), !editor.isEmpty,
            !editor.text.hasPrefix("/"), !isLocked
        else { return }
        typingSignals = typingSignals.filter { now.seconds - $0.value.seconds < Self.typingSeconds }
        guard typingSignals[key] == nil else { return }
        (typingSignals[key], typingTold) = (now, (key, now))
        make("compose", ["typing", key.who], isQuiet: true)
    }

    /// Tells the other side that the text is not typed any more: the line is empty, or another conversation is open. A message tells it
    /// by itself.
    mutating func endTypingIfStopped() {
        guard let told = typingTold else { return }
        guard conversation?.key == told.key, !editor.isEmpty else { return endTyping() }
    }

    mutating func endTyping() {
        guard let (key, time) = typingTold else { return }
        typingTold = nil
        // The other side has ended an older signal itself.
        guard now.seconds - time.seconds < Self.typingLifetime, isTypingTold(in: key), !isLocked
        else { return }
        make("compose", ["typing", "--stop", key.who], isQuiet: true)
    }

    private func isTypingTold(in key: ConversationKey) -> Bool {
        switch key {
        case .person(let id): list.contact(id)?.sendsTyping == true
        // The members of another group are not known here.
        case .group where conversation?.key != key: true
        case .group:
            members.contains { member in
                list.contact(member.id)?.sendsTyping == true && !member.isMe && !member.isInvited
            }
        case .chat: false
        }
    }

    /// The time of the next tick that is needed.
    var nextWake: Timestamp? {
        guard ending == nil else { return nil }
        let soon = Timestamp(seconds: now.seconds + 1)
        var times = signals.values.map { $0 }
        if let status { times.append(status.until) }
        if isFinishing {
            times.append(soon)
        } else {
            let restarts = [news, mail, sender, outbox].map(\.restart)
            for time in restarts + [nextPresence, nextSync] { if let time { times.append(time) } }
        }
        if isComplete, !isLocked, let next = fates.next { times.append(next) }
        if let next = conversation?.nextExpiry { times.append(next) }
        // A message that has begun to wait is counted at the next tick.
        let isFateNew = (conversation?.waiting.count ?? 0) != fates.count && isComplete && !isLocked
        let isSyncDue = isSyncWanted && !list.groups.isEmpty
        if !refreshes.isEmpty && isStarted && !isLocked || isSyncDue || isFateNew {
            times.append(soon)
        }
        return times.min().map { max($0, soon) }
    }
}
