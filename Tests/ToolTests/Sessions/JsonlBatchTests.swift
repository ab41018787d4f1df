import Sotto
import SottoState
import TestSupport
import Testing

/// Tests of batches that several threads encrypt and parse.
struct JsonlBatchTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws {
        two = try Couple()
        try two.begin()
    }

    func texts(_ records: [JSONObject]) -> [String] {
        records.compactMap { $0["body"]?.object?["text"]?.string }
    }

    /// A line that fails in the middle of a batch changes neither the order nor the other lines.
    @Test func failuresStandInTheirPlaces() throws {
        let count = 900
        var input = (0..<count).map { "text \($0)" }
        input[200] = "{"
        input[450] = String(repeating: "x", count: 40_000)
        input[899] = "{}"
        let sent = try alice.run("encrypt", ["--to", bob.card, "--jsonl"], stdin: lines(input))
        #expect(sent.status == 15 && sent.lines.count == count)
        let bad: Set = [200, 450, 899]
        var envelopes: [String] = []
        for (place, line) in sent.lines.enumerated() {
            let record = try JSON.object(parsing: Array(line.utf8))
            let isError = record["type"]?.string == "error"
            #expect(isError == bad.contains(place))
            if isError {
                #expect(record["line"]?.integer == Int64(place + 1))
            } else {
                let expected = Int64(envelopes.count + 1)
                #expect(try payload(line)["chainLength"]?.integer == expected)
                envelopes.append(line)
            }
        }
        let good = (0..<count).filter { !bad.contains($0) }.map { "text \($0)" }
        #expect(try alice.textsInHistory().suffix(good.count) == good[...])

        // A repeated, a damaged and a foreign line in the middle of the batch of the recipient.
        let damaged = try changing(payload: envelopes[600]) { $0["ciphertext"] = .string("AAAA") }
        var arrived = envelopes
        arrived.insert(envelopes[10], at: 300)
        arrived.insert(damaged, at: 500)
        arrived.insert("no JSON", at: 501)
        let read = try bob.read(arrived)
        #expect(read.status == 15 && read.lines.count == arrived.count)
        let records = try read.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        #expect(records[300]["seen"] == .bool(true))
        #expect(records[300]["body"]?.object?["text"]?.string == "text 10")
        #expect([500, 501].allSatisfy { records[$0]["line"]?.integer == Int64($0 + 1) })
        #expect(records.filter { $0["type"]?.string == "error" }.count == 2)
        var opened = records
        for place in [501, 500, 300] { opened.remove(at: place) }
        #expect(texts(opened) == good)
        #expect(try bob.textsInHistory().suffix(good.count) == good[...])
    }

    /// A timer applies to the messages after it, also within a batch.
    @Test func aTimerAppliesToTheMessagesAfterIt() throws {
        var input = (0..<300).map { "text \($0)" }
        input[150] = #"{"body":{"type":"timer","seconds":3600}}"#
        let sent = try alice.write(input, to: bob)
        let read = try bob.read(sent)
        #expect(read.status == 0)
        for (place, line) in read.lines.enumerated() where place != 150 {
            let body = try JSON.object(parsing: Array(line.utf8))["body"]?.object
            #expect((body?["expires"] != nil) == (place > 150), "\(place)")
        }
    }

    /// Lost, swapped, damaged and forged lines within a batch change no other line, although the next keys are derived before
    /// the lines are opened.
    @Test func linesOutOfOrderOpen() throws {
        var input = (0..<700).map { "text \($0)" }
        input[350] = #"{"body":{"type":"text"}}"#
        let sent = try alice.run("encrypt", ["--to", bob.card, "--jsonl"], stdin: lines(input))
        var envelopes = sent.lines.filter { !$0.contains(#""type":"error""#) }
        #expect(envelopes.count == 699)
        // The last line comes early, and three lines do not come.
        let lost = Array(envelopes[200..<203])
        envelopes.swapAt(10, 140)
        envelopes.removeSubrange(200..<203)
        let forged = try changing(payload: envelopes[300]) { $0["chainLength"] = .integer(520) }
        envelopes.insert(forged, at: 300)
        let read = try bob.read(envelopes)
        #expect(read.status == 15 && read.lines.count == envelopes.count)
        let records = try read.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        for (place, record) in records.enumerated() {
            #expect((record["type"]?.string == "error") == (place == 300), "\(place)")
        }
        #expect(try bob.texts(lost) == ["text 200", "text 201", "text 202"])
        let all = try bob.textsInHistory().filter { $0.hasPrefix("text ") }
        #expect(Set(all).count == 699 && all.count == 699)
    }

    /// A batch can have the messages of several chains, of which some were replaced.
    @Test func severalChainsInABatch() throws {
        var envelopes: [String] = []
        var texts: [String] = []
        for round in 0..<3 {
            let part = (0..<200).map { "\(round): \($0)" }
            let sent = try alice.write(part, to: bob)
            #expect(try bob.texts([sent[0]]) == [part[0]])
            envelopes += sent[1...]
            texts += part[1...]
            // The answer has a new key, so the next messages are in a new chain.
            let answer = try bob.write(["answer \(round)"], to: alice)
            #expect(try alice.texts(answer) == ["answer \(round)"])
        }
        #expect(try bob.texts(envelopes) == texts)
    }

    /// A contact's name and trust are in the records and in the history, and the messages of others become requests.
    @Test func contactsAndRequests() throws {
        let texts = (0..<300).map { "text \($0)" }
        let envelopes = try alice.write(texts, to: bob)
        let carol = try Party("carol", in: two.home)
        _ = try bob.run("contact", ["add", carol.card])
        let waiting = try bob.read(envelopes)
        #expect(waiting.lines.count == texts.count)
        // Without the step of the session only the messages with `kem` can be opened.
        for (envelope, line) in zip(envelopes, waiting.lines) {
            let type = try payload(envelope)["kem"] == nil ? "error" : "request"
            #expect(line.contains(#""type":"\#(type)""#), "\(line)")
        }
        #expect(try bob.textsInHistory().allSatisfy { !$0.hasPrefix("text ") })
        let added = try bob.run("contact", ["add", alice.card])
        #expect(added.status == 0, "\(added.stderr)")
        let read = try bob.read(envelopes)
        let records = try read.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        #expect(records.compactMap { $0["body"]?.object?["text"]?.string } == texts)
        #expect(records.allSatisfy { $0["name"] == .string("alice") })
        #expect(records.allSatisfy { $0["trust"] == .string("trusted") })
    }

    /// The messages of a suite without sessions are opened on all threads too, in the order of the input. A damaged, a foreign and
    /// a repeated line change no other one.
    @Test(arguments: [[], ["--stateless"]])
    func sealedMessagesStandInTheirPlaces(_ flags: [String]) throws {
        let texts = (0..<700).map { "text \($0)" }
        let sent = try alice.run(
            "encrypt", ["--to", bob.card, "--jsonl", "--suite", "sealed"], stdin: lines(texts))
        var arrived = sent.lines
        #expect(sent.status == 0 && arrived.count == texts.count)
        let foreign = try alice.run(
            "encrypt", ["--to", alice.card, "--suite", "sealed"], stdin: lines(["x"]))
        arrived.insert(arrived[10], at: 300)
        arrived.insert(try changing(payload: arrived[600]) { $0["age"] = .string("AAAA") }, at: 400)
        arrived.insert(foreign.lines[0], at: 500)
        for round in 0..<2 {
            let read = try bob.run("decrypt", flags, stdin: lines(arrived))
            #expect(read.status == 15 && read.lines.count == arrived.count)
            var records = try read.lines.map { try JSON.object(parsing: Array($0.utf8)) }
            for place in [500, 400] {
                let failure = records.remove(at: place)
                #expect(failure["line"]?.integer == Int64(place + 1))
            }
            let repeated = records.remove(at: 300)
            #expect(repeated["body"]?.object?["text"]?.string == "text 10")
            #expect((repeated["seen"] == .bool(true)) == flags.isEmpty)
            #expect(self.texts(records) == texts)
            let isSeen = records.allSatisfy { $0["seen"] == .bool(true) }
            #expect(isSeen == (flags.isEmpty && round == 1))
        }
        if flags.isEmpty { #expect(try bob.textsInHistory().suffix(texts.count) == texts[...]) }
    }
}
