import Sotto
import TestSupport
import Testing

/// `group-fold` of the benchmarks, with which other models of the rules are compared.
struct GroupFoldBenchTests {
    private let command = Command(path: Programs.path("group-fold"), [])

    @Test func theKnownLogsAreFoldedInAnyOrder() throws {
        let object = try JSON.object(parsing: Vectors.file("group.json"))
        let logs = try #require(object["logs"]?.array).compactMap(\.object)
        #expect(logs.count == 65)
        for log in logs {
            let lines = try #require(log["log"]?.array).compactMap(\.object)
            let text = lines.reversed().map { $0.serialized() + [10] }.joined()
            let run = try command.run(stdin: .whole(Array(text)))
            #expect(run.status == 0)
            #expect(
                try JSON.object(JSON.object(parsing: run.stdout)).canonical()
                    == JSON.object(#require(log["result"]?.object)).canonical())
        }
        let bad = try command.run(stdin: .whole(Array("no change\n".utf8)))
        #expect(bad.status == 65)
    }
}
