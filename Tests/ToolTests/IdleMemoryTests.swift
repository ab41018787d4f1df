import Glibc
import TestSupport
import Testing

/// Searches the memory of programs that wait for mail for the plaintexts of the messages that they have printed.
@Suite struct IdleMemoryTests {
    private let home: Home

    init() throws { home = try Home(people: "alice", "bob") }

    /// Returns a text of 64 digits that no memory has by chance.
    private static func text() -> String {
        (0..<4).map { _ in
            let digits = String(UInt64.random(in: 0...(.max)), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The part of a text for which the memory is searched: the beginning of a freed block is overwritten in any case.
    private func part(_ text: String) -> [UInt8] { Array(text.utf8.dropFirst(16).prefix(32)) }

    private func envelopes(_ texts: [String]) throws -> [UInt8] {
        try home.output(
            "encrypt", ["-q", "--jsonl", "--to", "bob.card", "-i", "alice.key"],
            stdin: Array(texts.joined(separator: "\n").utf8))
    }

    private func decrypt(_ options: [String]) -> Command {
        home.command("decrypt", ["-q", "-i", "bob.key"] + options)
    }

    /// Expects that none of the texts is in the memory of a program, at the latest ten seconds after it printed them: it works on
    /// after its output.
    private func expectNone(of texts: [String], in pipeline: Pipeline, _ program: Int) {
        var left = texts
        for _ in 0..<1_000 {
            let memory = pipeline.memory(of: program)
            left = texts.filter { memory.contains(part($0)) }
            if left.isEmpty { return }
            usleep(10_000)
        }
        Issue.record("program \(program) has \(left.count) of \(texts.count) texts")
    }

    /// Whether all texts were printed.
    private func hasPrinted(_ texts: [String]) -> ([UInt8]) -> Bool {
        { output in
            let output = String(decoding: output, as: UTF8.self)
            return texts.allSatisfy { output.contains($0) }
        }
    }

    @Test(arguments: [[], ["--text"], ["--text", "--time"]])
    func anIdleDecryptHasNoPlaintext(_ options: [String]) throws {
        let pipeline = try Pipeline([decrypt(options)])
        var texts: [String] = []
        for _ in 0..<3 {
            texts.append(Self.text())
            try pipeline.feed(.whole(envelopes([texts[texts.count - 1]])))
            try pipeline.collect(until: hasPrinted(texts))
        }
        // The control: the program keeps the beginning of a line, and the search must find it.
        let begun = Self.text()
        try pipeline.feed(.whole(Array(begun.utf8)))
        var isFound = false
        for _ in 0..<1_000 where !isFound {
            isFound = pipeline.memory(of: 0).contains(part(begun))
            if !isFound { usleep(10_000) }
        }
        #expect(isFound)
        expectNone(of: texts, in: pipeline, 0)
    }

    /// A batch of more than 256 lines is parsed and serialized by several threads.
    @Test func threadsKeepNoPlaintext() throws {
        let texts = (0..<600).map { _ in Self.text() }
        let pipeline = try Pipeline([decrypt([])])
        try pipeline.feed(.whole(envelopes(texts)))
        try pipeline.collect(until: hasPrinted(texts))
        expectNone(of: texts, in: pipeline, 0)
    }

    /// A text of 20,000 bytes is in other blocks of the allocator than a short one.
    @Test func aLongTextIsOverwritten() throws {
        let parts = (0..<312).map { _ in Self.text() }
        let pipeline = try Pipeline([decrypt([])])
        try pipeline.feed(.whole(envelopes([parts.joined()])))
        try pipeline.collect(until: hasPrinted(parts))
        expectNone(of: parts, in: pipeline, 0)
    }

    @Test func anIdleEncryptHasNoPlaintext() throws {
        let text = Self.text()
        let pipeline = try Pipeline([
            home.command(
                "encrypt", ["-q", "--jsonl", "--to", "bob.card", "-i", "alice.key"])
        ])
        try pipeline.feed(.whole(Array((text + "\n").utf8)))
        try pipeline.collect { $0.contains(0x0A) }
        expectNone(of: [text], in: pipeline, 0)
    }

    @Test func aFollowingPipeHasNoPlaintext() throws {
        let files = TemporaryDirectory()
        let relay = try #require(RelayProcess(files))
        defer { relay.end() }
        let environment = ["SOTTO_RELAY": "tcp://\(relay.address)"]
        let pipeline = try Pipeline([
            home.command("recv", ["--follow", "-q", "-i", "bob.key"], environment: environment),
            decrypt([]),
        ])
        let text = Self.text()
        let sent = try home.run(
            "send", [], stdin: .whole(envelopes([text])), environment: environment)
        #expect(sent.status == 0, "\(sent.stderr)")
        try pipeline.collect(until: hasPrinted([text]))
        // The control: the address is in the environment.
        #expect(pipeline.memory(of: 0).contains(Array(relay.address.utf8)))
        for program in 0...1 { expectNone(of: [text], in: pipeline, program) }
    }
}
