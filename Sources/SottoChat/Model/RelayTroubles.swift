import SottoBytes

/// The relays of other people that do not take messages, by their addresses without a pin. An unknown address is an empty text.
struct RelayTroubles: Sendable {
    struct Trouble: Sendable, Hashable {
        /// The reason in words.
        var reason: String
        /// Whether the relay answers, and takes nothing now.
        var answers = false
        /// The recipients of what waits, as far as they are known.
        var people: Set<String> = []
    }

    private(set) var relays: [String: Trouble] = [:]

    /// The most relays, and the most people of one, that are kept.
    private static let limit = 200

    var isEmpty: Bool { relays.isEmpty }

    /// Returns the address without a pin.
    private static func address(_ text: String) -> String {
        String(text.prefix { $0 != "#" }.prefix(300))
    }

    /// Notes that a relay did not take a message for a person.
    mutating func note(_ relay: String, _ reason: String?, to person: String?, answers: Bool) {
        let relay = Self.address(relay)
        guard relays.count < Self.limit || relays[relay] != nil else { return }
        let words =
            relay.isEmpty
            ? "the relay does not take messages now"
            : answers
                ? "\(relay) does not take messages now"
                : "cannot reach \(relay); what waits is sent when it answers"
        var trouble = relays[relay] ?? Trouble(reason: "")
        (trouble.reason, trouble.answers) = (reason ?? words, answers)
        if let person, trouble.people.count < Self.limit { trouble.people.insert(person) }
        relays[relay] = trouble
    }

    /// Notes the words of an error of `send`, which name the relay.
    mutating func note(error: String) {
        let words = error.pieces(between: "cannot reach ").dropFirst().first
        let relay = words.map { $0.pieces(between: ": ")[0] }
        note(relay.map(String.init) ?? "", error, to: nil, answers: false)
    }

    /// Notes that a relay took a message or is connected. Returns whether it had a trouble.
    mutating func end(_ relay: String?) -> Bool {
        let isKnown = relays.removeValue(forKey: Self.address(relay ?? "")) != nil
        return relays.removeValue(forKey: "") != nil || isKnown
    }

    /// Keeps the relays for which messages wait, with the recipients of these.
    mutating func keep(_ waiting: [(relay: String?, to: String)]) {
        var people: [String: Set<String>] = [:]
        for (relay, to) in waiting { people[Self.address(relay ?? ""), default: []].insert(to) }
        // Messages without a relay can be for each of them.
        if people[""] == nil { relays = relays.filter { people[$0.key] != nil } }
        for (relay, to) in people where relays[relay] != nil {
            relays[relay]?.people = Set(to.sorted().prefix(Self.limit))
        }
    }
}
