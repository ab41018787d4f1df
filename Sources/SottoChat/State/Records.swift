import Sotto
import SottoBytes

/// Records of the tools.
extension ChatState {
    /// The seconds after which a signal ends.
    private static let signalSeconds: [Signal.Kind: Int64] = [
        .typing: typingLifetime, .presence: 60,
    ]

    // MARK: Pages

    mutating func endReading(_ run: Running) {
        // Status 1 is a negative result, such as no messages.
        guard run.status == 0 || run.status == 1 else {
            if !isLocked { complain(run.cause) }
            return
        }
        let records = run.lines.compactMap { try? JSON.object(parsing: $0) }
        switch run.job {
        case .conversations:
            list.conversations = Array(
                records.compactMap { ChatConversation($0) }.prefix(ChatList.limit))
            list.isLoaded = true
            nameConversation()
            seekUnread()
            markSeen()
            notify()
        case .contacts:
            let old = list
            list.areContactsLoaded = true
            list.contacts = Array(records.compactMap { ChatContact($0) }.prefix(ChatList.limit))
            followKey(from: old)
            nameConversation()
            if nextPresence == nil { nextPresence = now }
            // The questions name contacts.
            askRequests()
            askInvitations()
        case .requests:
            list.requests = Array(records.compactMap { ChatRequest($0) }.prefix(ChatList.limit))
            askRequests()
        case .groups:
            list.groups = Array(records.compactMap { ChatGroup($0) }.prefix(ChatList.limit))
            nameConversation()
            askInvitations()
            if !list.groups.isEmpty, nextSync == nil { nextSync = now }
        case .members(let id):
            guard conversation?.key == .group(id) else { return }
            members = Array(records.compactMap { ChatMember($0) }.prefix(ChatList.limit))
            if let me = members.first(where: \.isMe) { ownID = me.id }
            askGrants(id)
        case .waiting: takeWaiting(records)
        case .unsent: takeUnsent(records)
        case .page(let key, let before): endPage(key, before, records, isCut: run.isCut)
        case .unread(let key): endUnread(key, records, isCut: run.isCut)
        case .later(let key, let last): endLater(key, last, records, isCut: run.isCut)
        case .refresh(let key):
            // A refresh that began before the message was stored is followed by another one.
            if key == unreadOwn, !refreshes.contains(.newest) { unreadOwn = nil }
            endRefresh(key, records, isCut: run.isCut)
        case .changed(let key):
            guard conversation?.key == key else { return }
            for record in records { add(record, in: key) }
        default: break
        }
    }

    /// Takes the list of the outbox. What waits there is sent at once, and then tried again.
    private mutating func takeWaiting(_ records: [JSONObject]) {
        let names = records.compactMap { record -> Outgoing.Name? in
            guard record.isA("queued"), record["kind"]?.string != "blob",
                let id = record["id"]?.string, let to = record["to"]?.string
            else { return nil }
            return Outgoing.Name(id: id, to: to)
        }
        queued = Set(names.map(\.id))
        stranded = Set(records.filter { $0["relay"] == nil }.compactMap { $0["to"]?.string })
        relayTroubles.keep(
            records.compactMap { record in
                guard let to = record["to"]?.string else { return nil }
                return (record["relay"]?.string, to)
            })
        if isRelayGivenUp { outgoing.remove(stored: Set(names)) }
        guard !queued.isEmpty else {
            (outbox.attempts, outbox.restart) = (0, nil)
            return
        }
        if outbox.id == nil, outbox.restart == nil, !isFinishing { startOutbox() }
    }

    /// Takes the own messages that reached no outbox. A new one can still be on its way, and a relay has refused others.
    private mutating func takeUnsent(_ records: [JSONObject]) {
        let messages = records.compactMap { ChatMessage($0) }
        unsent = Set(messages.filter { $0.isUnsent(at: now) }.map(\.number))
    }

    /// Takes a page: the newest one, or the one before the first loaded message.
    private mutating func endPage(
        _ key: ConversationKey, _ before: Int64?, _ records: [JSONObject], isCut: Bool
    ) {
        guard let open = conversation, open.key == key else { return }
        if before == nil, open.isLoaded { return endRefresh(key, records, isCut: isCut) }
        // Others than those before which it was read are the first ones now.
        if let before, open.firstNumber != before { return }
        for record in records { add(record, in: key, extends: true) }
        // The newest page has at least this size, unless it is the whole conversation.
        let size = options.form == .lines ? Self.linePageSize : Self.pageSize
        let isWhole = before == nil && !isCut && records.count(where: { $0.isA("message") }) < size
        if isWhole || conversation?.messageCount == open.messageCount {
            conversation?.isComplete = true
        }
        conversation?.trim()
        if before == nil {
            conversation?.isLoaded = true
            unreadOwn = nil
            lastRefresh[.changed] = now
            if open.missesNews { refreshes.insert(.newest) }
        } else if !records.contains(where: { $0.isA("message") }), open.found == nil,
            !open.isAtUnreadLine
        {
            say("this is the beginning of the conversation")
        }
        endLoading()
    }

    /// Takes the first unread messages, unless the view was moved meanwhile.
    private mutating func endUnread(_ key: ConversationKey, _ records: [JSONObject], isCut: Bool) {
        guard let open = conversation, open.key == key, open.seeksUnread, open.anchor == nil else {
            return
        }
        guard records.contains(where: { $0.isA("message") }) else {
            conversation?.seeksUnread = false
            if !open.isLoaded { loadPage() }
            return
        }
        conversation?.reset()
        conversation?.isLoaded = true
        conversation?.startsAtUnread = true
        append(records, in: key, isCut: isCut)
        loadOlder()
    }

    /// Takes the messages after the last one that was loaded.
    private mutating func endLater(
        _ key: ConversationKey, _ last: Int64, _ records: [JSONObject], isCut: Bool
    ) {
        guard let open = conversation, open.key == key, open.isDetached, open.lastNumber == last
        else { return }
        append(records, in: key, isCut: isCut)
    }

    /// Adds a page after the loaded part. One that is not full is the end.
    private mutating func append(_ records: [JSONObject], in key: ConversationKey, isCut: Bool) {
        for record in records { add(record, in: key, extends: true) }
        let isEnd = !isCut && records.count(where: { $0.isA("message") }) < Self.pageSize
        conversation?.attach(isEnd)
        conversation?.trim()
        if isEnd {
            addPending()
            refreshes.insert(.newest)
        }
        endLoading()
    }

    private mutating func endLoading() {
        // With the messages next to it, the first unread one can have other rows, and more rows are below it.
        if var open = conversation, open.isAtUnreadLine {
            open.showUnreadLine(layout, height: viewHeight)
            conversation = open
        }
        conversation?.hasUnmarked = true
        seekUnread()
        showFound()
        if let open = conversation, open.isAtUnreadLine, open.needsLater { loadLater() }
    }

    /// Takes the newest messages again. If others can be between them and the loaded ones, none is added.
    private mutating func endRefresh(_ key: ConversationKey, _ records: [JSONObject], isCut: Bool) {
        guard let open = conversation, open.key == key else { return }
        let numbers = records.filter { $0.isA("message") }.compactMap { $0["number"]?.integer }
        let isFull = isCut || numbers.count >= Self.pageSize
        if !open.isDetached, isFull, !numbers.contains(where: open.has) {
            if open.anchor == nil { return reload() }
            conversation?.attach(false)
        }
        for record in records { add(record, in: key) }
        if let last = erasure.last, !open.isDetached {
            conversation?.removeMissing(in: Set(numbers), upTo: last)
            erasure.last = nil
        }
    }

    /// Puts the line of unread messages before the first of them, and shows it unless the view was moved.
    mutating func placeUnreadLine() {
        guard var open = conversation, open.needsUnreadLine else { return }
        let isSought = open.seeksUnread && open.anchor == nil
        open.seeksUnread = false
        if let first = open.messages.first(where: \.isUnread) {
            open.needsUnreadLine = false
            let count = max(list.conversation(open.key)?.unread ?? 0, open.unread)
            open.unreadLine = (first.number, count)
            if isSought { open.showUnreadLine(layout, height: viewHeight) }
        } else if !open.isDetached {
            open.needsUnreadLine = false
        }
        conversation = open
    }

    /// Adds a record of the history. `extends` tells that it is part of a page next to the loaded part.
    private mutating func add(
        _ record: JSONObject, in key: ConversationKey, extends: Bool = false
    ) {
        if case .group(let id) = key, let change = GroupChangeLine(record, in: id, name(of:)) {
            let isNew = conversation?.index(of: .change(change.id)) == nil
            conversation?.add(change, extends: extends)
            if options.form == .lines, isNew, conversation?.isLoaded == true { say(change.text) }
            return
        }
        guard var message = ChatMessage(record, in: key) else { return }
        // A deleted message has lost its author, but the other side of a conversation is known.
        if message.author.isEmpty, !message.isOwn, case .person(let id) = key {
            message.author = id
        }
        if message.isDeleted, !message.hasName, !message.author.isEmpty {
            message.name = name(of: message.author)
        }
        if message.isOwn, !message.author.isEmpty { ownID = message.author }
        preview(&message)
        conversation?.add(message, extends: extends)
        if message.isOwn { settle(message) }
        if options.form == .lines { printLine(message) }
    }

    /// Removes the typed text that a message of the history has.
    private mutating func settle(_ message: ChatMessage) {
        removePending(pending.first { $0.ids.contains(message.id) }?.number)
    }

    /// Gives the small picture of a message to the helper, and forgets it.
    mutating func preview(_ message: inout ChatMessage) {
        if options.showsPictures, let file = message.thumbnail {
            previews.ask(message.number, file)
        }
        message.thumbnail = nil
    }

    /// Continues the open conversation with the new key of its contact, if the user has accepted one. What is typed is for the contact.
    private mutating func followKey(from old: ChatList) {
        guard case .person(let id)? = conversation?.key, list.contact(id) == nil,
            let name = old.contact(id)?.name,
            let new = list.contacts.first(where: { $0.name == name })
        else { return }
        let typed = editor.text
        editor.set("")
        open(.person(new.id), name: name)
        if editor.isEmpty { editor.set(typed) }
        say("the new key of \(name) is accepted; /verify compares it")
    }

    private mutating func nameConversation() {
        guard let key = conversation?.key else { return }
        switch key {
        case .person(let id):
            if let contact = list.contact(id) { conversation?.name = contact.name }
        case .group(let id): if let group = list.group(id) { conversation?.name = group.name }
        case .chat: break
        }
        if let named = list.conversation(key) { conversation?.name = named.name }
    }

    // MARK: News

    /// Takes a record that was stored, by any program.
    mutating func takeNews(_ record: JSONObject) {
        news.attempts = 0
        if record.isA("changes") { return takeChanges(record) }
        let type = record["body"]?.object?["type"]?.string ?? ""
        refreshes.insert(.conversations)
        if type == "group" { return takeGroupNews(record) }
        // A key that was accepted changes who the senders of the requests are.
        if type == "system" || type == "profile" { refreshes.formUnion([.contacts, .requests]) }
        // Its messages can begin to have forward secrecy, and another program can have added the contact. An own message tells that
        // they have none, and a repair that the next one has none.
        let suite = record["direction"]?.string == "sent" ? record["suite"]?.string : nil
        if case .person(let id)? = conversation?.key, id != ownID,
            list.contact(id)?.hasForwardSecrecy != true || type == "repair"
                || suite.map({ $0 != "ratchet" }) ?? false
        {
            refreshes.insert(.contacts)
        }
        guard var message = ChatMessage(record) else {
            refreshes.formUnion([.newest, .changed])
            return
        }
        if message.key == conversation?.key {
            let isNew = conversation?.has(message.number) == false
            message.isUnread = message.isCounted && isNew
            if conversation?.isLoaded == false {
                conversation?.missesNews = true
            } else if isNew {
                conversation?.seen.note(stored: message.order)
                preview(&message)
                conversation?.add(message)
                if message.isOwn { settle(message) }
                if options.form == .lines { printLine(message) }
            }
            refreshes.insert(.newest)
        }
        announce(message)
    }

    /// Reads again the lists that any program changed.
    private mutating func takeChanges(_ record: JSONObject) {
        for list in (record["lists"]?.array ?? []).prefix(20) {
            switch list.string {
            // The conversations have the names of contacts and groups.
            case "contacts": refreshes.formUnion([.contacts, .conversations, .members])
            case "groups": refreshes.formUnion([.groups, .conversations, .members])
            case "requests": refreshes.insert(.requests)
            // A message of the open one can be deleted here by another program.
            case "conversations":
                refreshes.formUnion([.conversations, .changed, .newest])
                erasure.isWanted = true
            default: break
            }
        }
    }

    /// Rings for a message of another person.
    private mutating func announce(_ message: ChatMessage) {
        guard !message.isOwn, !message.isLocal, message.number > announced, !message.isDeleted
        else { return }
        let isFirst = announced == 0
        announced = message.number
        // The first record can be from before the start.
        guard !isFirst || message.place >= started, list.conversation(message.key)?.isMuted != true
        else { return }
        let known = list.conversation(message.key)
        let name =
            known?.name ?? (conversation?.key == message.key ? conversation?.name : nil)
            ?? message.name
        effects.append(.ring)
        if options.notifies { unnotified[message.key] = name }
        if options.form == .lines, message.key != conversation?.key {
            say("\(name) wrote")
        }
    }

    /// Runs the command of --notify for the conversations with new messages, when the list has their numbers.
    private mutating func notify() {
        guard !refreshes.contains(.conversations) else { return }
        for (key, name) in unnotified.sorted(by: { $0.value < $1.value }) {
            let count = list.conversation(key)?.unread ?? 0
            effects.append(.notify(name: name, count: max(1, count)))
        }
        unnotified = [:]
    }

    private mutating func takeGroupNews(_ record: JSONObject) {
        refreshes.formUnion([.groups, .members, .requests])
        isSyncWanted = true
        // The page has the changes, with the own ones.
        refreshes.insert(.newest)
        guard let body = record["body"]?.object, case .group(let id)? = conversation?.key,
            record["group"]?.string == id || body["group"]?.string == id,
            record["direction"]?.string != "sent"
        else { return }
        for event in (body["events"]?.array ?? []).prefix(50) {
            guard let event = event.object, !GroupEventWords.isStored(event) else { continue }
            if let words = GroupEventWords(event, name(of:)).text { tell(words) }
        }
    }

    // MARK: Mail

    /// Takes a record of decrypt: only what is not stored.
    mutating func takeMail(_ record: JSONObject) {
        switch record["type"]?.string {
        case "error":
            complain("a message cannot be opened: \(record.line("message", limit: 300) ?? "")")
        case "request": refreshes.insert(.requests)
        case "message":
            if let news = deviceNews(record) { complain(news) }
            endTyping(by: record)
            takeSignal(record)
        default: break
        }
    }

    /// Returns the news about a machine of the owner, with the command that answers it; `nil` for another message.
    private func deviceNews(_ record: JSONObject) -> String? {
        // No contact has the name of the owner.
        guard record["name"]?.string == "me", record["authenticated"]?.bool == true,
            let body = record["body"]?.object
        else { return nil }
        let name = body.line("name", limit: 64)
        switch body["type"]?.string {
        case "devices":
            if body["thisDevice"]?.bool == true {
                return
                    "machine one removed this machine from your devices: nobody takes its messages from now on"
            }
            if let added = body["added"]?.array?.first?.string.map({ Cells.line($0, limit: 64) }) {
                return
                    "a new device of yours: \(added); if it is not yours: sotto device object \(shellWord(added)) --send"
            }
            guard let name, body["objects"] != nil else { return nil }
            return "a device of yours objects to the device \(name), which stays new"
        case "repair":
            let device = name ?? "machine one"
            return
                "\(device) lost its messages; to send it again what was written here: sotto device sync --again \(shellWord(device)) --send"
        default: return nil
        }
    }

    /// Ends the typing signal of the author of a message or of an edit. Only decrypt prints both in the order of writing.
    private mutating func endTyping(by record: JSONObject) {
        let type = record["body"]?.object?["type"]?.string ?? ""
        guard type == "edit" || !ChatMessage.events.contains(type), let from = record.line("from")
        else { return }
        let key = record.line("group").map { ConversationKey.group($0) } ?? .person(from)
        signals[Signal(id: from, kind: .typing, key: key)] = nil
    }

    private mutating func takeSignal(_ record: JSONObject) {
        guard let body = record["body"]?.object,
            let kind = body["type"]?.string.flatMap(Signal.Kind.init),
            let from = record["from"]?.string
        else { return }
        let group = record["group"]?.string ?? (body["group"]?.string)
        let key: ConversationKey = group.map { .group($0) } ?? .person(from)
        let signal = Signal(
            id: Cells.line(from, limit: 80), kind: kind, key: kind == .typing ? key : nil)
        let isOn = ["started", "online"].contains(body["state"]?.string ?? "")
        guard signals.count < 1_000 || signals[signal] != nil else { return }
        signals[signal] =
            isOn ? Timestamp(seconds: now.seconds + (Self.signalSeconds[kind] ?? 15)) : nil
    }

    /// Takes a result or an error record of send.
    mutating func takeResult(_ record: JSONObject, of job: Job) {
        guard record.isA("result") else {
            if record.isA("error") {
                if job == .sender, let line = record["line"]?.integer {
                    outgoing.refuse(line: line)
                }
                refuse(record.line("message", limit: 300) ?? "a message was not sent")
                refreshes.formUnion([.newest, .waiting])
            }
            return
        }
        if job == .sender {
            sender.attempts = 0
            outgoing.answer(record)
        }
        let id = record["id"]?.string ?? ""
        switch record["status"]?.string {
        case "stored", "duplicate", "accepted":
            let relay = record["relay"]?.string
            noteReached(relay)
            if let relay, isReceptionTrouble(of: relay) { isReconnecting = true }
            if !queued.isEmpty { refreshes.insert(.waiting) }
            conversation?.set(.stored, ofID: id)
        case "queued", "deferred":
            conversation?.set(.queued, ofID: id)
            refreshes.insert(.waiting)
            relayTroubles.note(
                record["relay"]?.string ?? "", record.line("reason", limit: 200),
                to: record["to"]?.string, answers: record["status"]?.string == "deferred")
        case "rejected", "expired", "dropped":
            conversation?.set(.failed, ofID: id)
            // A signal is dropped if the relay is not reached at once.
            guard record["reason"] != nil || record["status"]?.string != "dropped" else { break }
            refuse("not sent: \(record["reason"]?.string ?? "the relay refused the message")")
        default: break
        }
        refreshes.insert(.newest)
    }

    // MARK: Names

    /// Returns the name of a person.
    func name(of id: String) -> String {
        let member = members.first { $0.id == id }
        return Self.name(of: id, own: ownID, known: member?.name ?? list.contact(id)?.name)
    }

    /// Returns the name of a conversation.
    func conversationName(_ key: ConversationKey) -> String {
        if let open = conversation, open.key == key { return open.name }
        if let known = list.conversation(key) { return known.name }
        switch key {
        case .person(let id): return name(of: id)
        case .group(let id): return groupName(id)
        case .chat(let name): return Cells.line(name, limit: 40)
        }
    }

    /// Returns the name of a person, from the name that a list has.
    static func name(of id: String, own: String, known: String?) -> String {
        if id == own, !id.isEmpty { return "me" }
        if let known { return known }
        return id.isEmpty ? "?" : String(id.prefix(16)) + (id.count > 16 ? "…" : "")
    }
}
