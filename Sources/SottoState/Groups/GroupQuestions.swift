import Sotto

/// The questions of the owner: whom the owner asks for changes, heads, messages and chains, and when.
extension GroupDues {
    /// The most questions of a former member without an answer, about three days.
    private static let mostQuestionsOfFormer: UInt8 = 10
    /// The most people who are asked at once for the heads of their logs.
    private static let mostAskedForHeads = 8
    /// The number of other members who are asked for the changes of a person who did not answer.
    private static let mostOthers = 2

    /// Returns the bodies with the questions for what a person has and the owner lacks, unless the person was asked a short
    /// time ago. A former member does not ask without end: members answer only those whom a change brought back.
    func asking(_ note: GroupMemberNote, with bodies: [GroupBody]) -> [GroupBody] {
        var question = GroupBody(group.id)
        let missing = note.missing.filter { !group.log.contains($0) }
        question.request = Array(
            ((changeRequests[note.id] ?? []) + missing).suffix(GroupBody.most))
        if headsRequests.contains(note.id) { question.headsRequest = group.question }
        if !question.request.isEmpty || question.headsRequest != nil {
            let heads = group.heads
            let older = group.state.ranks[note.id] == nil ? [] : group.log.landmarks
            question.heads = heads + older.filter { !heads.contains($0) }
        }
        question.messageRequest = messageRequests[note.id] ?? []
        // A chain that was lost with the state is asked for with other bodies, once.
        question.asksForChain =
            chainRequests.contains(note.id)
            || note.lacksChain && (question.isRequest || !bodies.isEmpty)
        guard question.isRequest, mayAsk(note) else { return bodies }
        // The heads of an answer are others.
        guard var first = bodies.first, first.headsAnswer == nil else { return [question] + bodies }
        (first.request, first.heads) = (question.request, question.heads)
        (first.headsRequest, first.asksForChain, first.messageRequest) =
            (question.headsRequest, question.asksForChain, question.messageRequest)
        return first.fits ? [first] + bodies.dropFirst() : [question] + bodies
    }

    /// Returns when the members who were asked last were asked, and when the first of those who owe an answer is asked again;
    /// `nil` if nobody owes one.
    func nextQuestion() -> (asked: Timestamp, again: Timestamp)? {
        var people: Set<KeyID> = []
        if group.isDoubtful {
            people = group.witnesses.filter { note(of: $0).answeredHeads.isEmpty }
        } else if group.isNewcomer, isMember {
            people = Set(group.drawn.filter { group.state.ranks[$0] != nil })
        }
        for note in notes.values {
            let lacks = note.missing.contains { !group.log.contains($0) }
            if lacks || messageRequests[note.id]?.isEmpty == false { people.insert(note.id) }
        }
        let asked = people.map { note(of: $0) }.filter { note in
            note.asked > 0 && time.seconds - note.asked < Self.askAgain(after: note.asks)
        }
        guard let last = asked.map(\.asked).max(),
            let again = asked.map({ $0.asked + Self.askAgain(after: $0.asks) }).min()
        else { return nil }
        return (Timestamp(seconds: last), Timestamp(seconds: again))
    }

    /// Whether a person may be asked now.
    func mayAsk(_ note: GroupMemberNote) -> Bool {
        time.seconds - note.asked >= Self.askAgain(after: note.asks)
            && (isMember || note.asks < Self.mostQuestionsOfFormer)
    }

    /// Chooses the people whom the owner asks for what they may know: for heads after a restoration or an invitation, and for changes that another
    /// person did not supply.
    mutating func askOthers() {
        if group.isDoubtful {
            // All are asked, some at once. Those who were asked a short time ago may still answer.
            let others = group.witnesses.filter { note(of: $0).answeredHeads.isEmpty }
            let asked = others.count { !mayAsk(note(of: $0)) }
            headsRequests = Set(
                askable(Array(others)).prefix(max(0, Self.mostAskedForHeads - asked)))
            if let voucher = group.voucher, mayAsk(note(of: voucher)) {
                headsRequests.insert(voucher)
            }
        } else if group.isNewcomer {
            let drawn = group.drawn.filter { group.state.ranks[$0] != nil }
            headsRequests = isMember ? Set(askable(drawn)) : []
        } else if group.question != nil {
            // Without other members, the invited people may have joined.
            let invited = notes.keys.filter { group.log.names($0) && !group.log.hasEntered($0) }
            headsRequests = Set(askable(invited).prefix(Self.mostAskedForHeads))
        }
        let unanswered = notes.values.filter { isUnanswered($0) }
        let missing = Set(unanswered.flatMap(\.missing)).filter { !group.log.contains($0) }
        guard !missing.isEmpty else { return }
        let askedAlready = Set(unanswered.map(\.id))
        let others = askable(group.members.map(\.id).filter { !askedAlready.contains($0) })
        for other in others.prefix(Self.mostOthers) { changeRequests[other] = missing.sorted() }
    }

    /// Returns those of some people who may be asked now, those whom the owner asked least or longest ago first.
    private func askable(_ people: [KeyID]) -> [KeyID] {
        people.filter { $0 != group.owner }.map { note(of: $0) }.filter { mayAsk($0) }.sorted {
            ($0.asks, $0.asked, $0.id.description) < ($1.asks, $1.asked, $1.id.description)
        }.map(\.id)
    }

    /// Whether a person did not supply the changes that they have, and is asked again now. A former member need not answer.
    /// ``StateTransaction/heldDays`` after the last one was named, only the person is asked.
    private func isUnanswered(_ note: GroupMemberNote) -> Bool {
        guard note.missing.contains(where: { !group.log.contains($0) }),
            time.seconds - note.missingLast <= StateTransaction.heldDays * StateTransaction.day
        else { return false }
        return mayAsk(note) && (note.asks > 0 || group.state.ranks[note.id] == nil)
    }

    /// Seconds after which a member who did not answer a number of questions is asked again: ten minutes, each time twice
    /// as long, at most a day.
    private static func askAgain(after asks: UInt8) -> Int64 {
        min(600 << Int64(min(max(asks, 1) - 1, 8)), 86_400)
    }
}
