/// Settings of the open conversation.
extension ChatState {
    mutating func setTimer(_ time: String, _ key: ConversationKey) {
        let digits = time.prefix { ("0"..."9").contains($0) }
        let isTime =
            !digits.isEmpty && ["s", "m", "h", "d", "w"].contains(time.dropFirst(digits.count))
        guard isTime || time == "off" else {
            return refuse("/timer needs a time such as 30m, 8h or 7d, or off")
        }
        if let obstacle = obstacle(toTimerIn: key) { return refuse(obstacle) }
        if case .group(let id) = key {
            make(
                "group", ["timer", "--", id, time], success: "timer \(time)",
                reads: [.groups, .conversations, .newest])
        } else {
            make(
                "compose", ["timer", "--", key.who, time], success: "timer \(time)",
                reads: [.conversations])
        }
    }

    mutating func set(_ command: SlashCommand, _ value: String, _ key: ConversationKey) {
        guard case .person(let id) = key else {
            return refuse("/\(command.rawValue) is for contacts")
        }
        guard ["on", "off"].contains(value) else {
            return refuse("/\(command.rawValue) needs on or off")
        }
        run(
            .change("\(command.rawValue) \(value)"), "contact",
            ["set", id, "\(command.rawValue)=\(value)"])
    }

    mutating func verify(_ number: String, _ key: ConversationKey) {
        guard case .person(let id) = key else { return refuse("/verify is for contacts") }
        if number.isEmpty {
            return show(Overlay.verification, "contact", ["show", "--text", "--", id])
        }
        run(.change("verified: the numbers are equal"), "contact", ["verify", "--", id, number])
    }
}
