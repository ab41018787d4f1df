import Sotto
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

    func history(_ party: Party) throws -> [JSONObject] {
        let run = try party.run("history", ["export"])
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
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
        #expect(texts(try history(alice)).suffix(good.count) == good[...])

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
        #expect(texts(try history(bob)).suffix(good.count) == good[...])
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
}
