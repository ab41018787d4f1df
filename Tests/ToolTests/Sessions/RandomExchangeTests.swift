import Sotto
import TestSupport
import Testing

/// A thousand random steps of sending, loss, duplication, reordering and tampering between two installations.
struct RandomExchangeTests {
    /// A message whose chain has not begun waits in the inbox for one with `kem`.
    @Test func everyMessageThatIsNotLostIsReadOnceAndNoForgeryLeavesATrace() throws {
        try withGenerator { random in
            let two = try Couple()
            try two.begin()
            var exchange = Exchange(sides: [Side(two.alice), Side(two.bob)])
            while exchange.steps < 1_000 { try exchange.step(&random) }
            try exchange.end(&random)
            #expect(exchange.lost > 0 && exchange.refused > 50, random.comment)
        }
    }
}

/// An envelope in transit, with its text.
private struct Underway {
    let line: String
    let text: String
    /// The number of deliveries without it. It would be lost after more than the number of chains that a session keeps.
    var age = 0
}

/// One party, with the envelopes in transit to it and the texts that it has read.
private struct Side {
    let party: Party
    var underway: [Underway] = []
    var delivered: [Underway] = []
    /// The messages in the inbox.
    var waiting: [Underway] = []
    /// The ratchet keys of the messages that were read.
    var chains: Set<String> = []
    var expected: Set<String> = []
    /// The number of times each text was read for the first time.
    var read: [String: Int] = [:]

    init(_ party: Party) { self.party = party }
}

private struct Exchange {
    var sides: [Side]
    var steps = 0
    var lost = 0
    var refused = 0
    private var count = 0

    init(sides: [Side]) { self.sides = sides }

    mutating func step(_ random: inout Generator) throws {
        let side = random.int(0..<2)
        switch random.int(0..<10) {
        case 0..<3: try send(to: side, random.int(1..<8))
        case 3..<5: try deliver(to: side, &random)
        default: try tamper(side, &random)
        }
    }

    mutating func end(_ random: inout Generator) throws {
        for side in 0..<2 {
            for place in sides[side].underway.indices { sides[side].underway[place].age = 2 }
            try deliver(to: side, &random)
            #expect(sides[side].underway.isEmpty)
            // Each waiting message belongs to a chain whose messages with `kem` were all lost.
            let waiting = sides[side].waiting
            for item in waiting {
                let key = try payload(item.line)["ratchetPublicKey"]?.string ?? ""
                #expect(!sides[side].chains.contains(key), random.comment)
            }
            let expected = sides[side].expected.subtracting(waiting.map(\.text))
            #expect(Set(sides[side].read.keys) == expected, random.comment)
            #expect(sides[side].read.values.allSatisfy { $0 == 1 }, random.comment)
        }
    }

    private mutating func send(to side: Int, _ number: Int) throws {
        let texts = (0..<number).map { "\(count + $0) to \(side)" }
        count += number
        steps += number
        let lines = try sides[1 - side].party.write(texts, to: sides[side].party)
        for (line, text) in zip(lines, texts) {
            sides[side].underway.append(Underway(line: line, text: text))
            sides[side].expected.insert(text)
        }
    }

    /// Delivers some of the envelopes in transit, in any order, some of them twice, and loses a few.
    private mutating func deliver(to side: Int, _ random: inout Generator) throws {
        var now: [Underway] = []
        var later: [Underway] = []
        for item in sides[side].underway.shuffled(using: &random) {
            if item.age >= 2 || random.int(0..<4) > 0 {
                if item.age < 2, random.int(0..<25) == 0 {
                    sides[side].expected.remove(item.text)
                    lost += 1
                    continue
                }
                now.append(item)
                if random.int(0..<6) == 0 {
                    now.insert(item, at: random.int(0..<now.count + 1))
                }
            } else {
                later.append(
                    Underway(line: item.line, text: item.text, age: item.age + 1))
            }
        }
        if let old = sides[side].delivered.randomElement(using: &random) { now.append(old) }
        sides[side].underway = later
        guard !now.isEmpty else { return }
        steps += now.count
        try sides[side].party.receive(now.map(\.line))
        let run = try sides[side].party.read(now.map(\.line))
        let printed = try run.messages
        let texts = Set(printed.map(\.text))
        let opened = now.filter { texts.contains($0.text) }
        let late = printed.dropFirst(opened.count).map(\.text)
        #expect(run.status == (opened.count == now.count ? 0 : 11), "\(run.stderr)")
        #expect(printed.prefix(opened.count).map(\.text) == opened.map(\.text), random.comment)
        #expect(Set(late).isSubset(of: sides[side].waiting.map(\.text)), random.comment)
        for message in printed where !message.isSeen {
            sides[side].read[message.text, default: 0] += 1
        }
        for item in opened {
            sides[side].chains.insert(try payload(item.line)["ratchetPublicKey"]?.string ?? "")
        }
        for item in now where !texts.contains(item.text) {
            #expect(try payload(item.line)["kem"] == nil, random.comment)
            if !sides[side].waiting.contains(where: { $0.text == item.text }) {
                sides[side].waiting.append(item)
            }
        }
        sides[side].waiting.removeAll { texts.contains($0.text) }
        sides[side].delivered += now
    }

    /// Delivers a forgery of an envelope that is in transit or was delivered before.
    private mutating func tamper(_ side: Int, _ random: inout Generator) throws {
        let party = sides[side].party
        guard
            let genuine =
                (random.int(0..<3) == 0 ? sides[side].delivered : sides[side].underway)
                .randomElement(using: &random)
        else { return }
        steps += 1
        let before = try party.sessions()
        let forged = try forgery(of: genuine.line, &random)
        let run = try party.read([forged])
        #expect([10, 11, 13, 65].contains(run.status), "\(run.status) \(forged) \(random.comment)")
        #expect(try run.messages.isEmpty, random.comment)
        #expect(try party.sessions() == before, "\(forged) \(random.comment)")
        refused += 1
    }

    private func forgery(of line: String, _ random: inout Generator) throws -> String {
        func number(_ name: String, _ change: Int64) throws -> String {
            try changing(payload: line) { payload in
                payload[name] = .integer((payload[name]?.integer ?? 0) + change)
            }
        }
        switch random.int(0..<8) {
        case 0:
            return try changing(payload: line) { payload in
                let text = try #require(payload["ciphertext"]?.string)
                let bytes = try #require(Base64.standard.decode(text))
                payload["ciphertext"] = .string(
                    Base64.standard.encode(bytes.flipping(bit: random.int(0..<bytes.count * 8))))
            }
        case 1: return try number("chainLength", Int64(random.int(1..<6)))
        case 2: return try number("chainLength", Int64(random.int(200..<1000)))
        case 3: return try number("previousChainLength", Int64(random.int(1..<400)))
        case 4:
            let key = random.bytes(32)
            return try changing(payload: line) {
                $0["ratchetPublicKey"] = .string(Base64.standard.encode(key))
            }
        case 5: return try changing(line) { $0["id"] = .string(Envelope.newID()) }
        case 6: return try changing(line) { $0["time"] = .string("2021-01-01T00:00:00Z") }
        default: return try changing(payload: line) { $0["ciphertext"] = nil }
        }
    }
}
