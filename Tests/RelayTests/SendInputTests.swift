import Glibc
import Sotto
import TestSupport
import Testing

/// Input of `send` that is no envelope, and output without a reader.
@Suite struct SendInputTests {
    let relay: RelayProcess
    let world: World

    init() throws {
        relay = try #require(RelayProcess(TemporaryDirectory()))
        world = World(address: relay.address)
    }

    @Test(
        arguments: [
            (Array("hi\n".utf8), "plain text"), (Array("héllo".utf8), "plain text"),
            (Array("\n\n  age-encryption.org/v1\n-> X25519".utf8), "an age file"),
            (Array("age-encryption.org/v1\n-> X25519".utf8), "an age file"),
            (Array("-----BEGIN AGE ENCRYPTED FILE-----\n".utf8), "an age file"),
            ([0x89] + Array("PNG\r\n".utf8) + [0x1A, 0x0A], "PNG"),
            ([0xFF, 0xD8, 0xFF, 0xE0], "JPEG"),
            ([0x1F, 0x8B, 8], "gzip"), ([0, 1, 2, 3], "binary data"), ([0xC3], "binary data"),
            (Array("sotto:05".utf8), "sotto: URI"),
        ] as [([UInt8], String)])
    func inputThatIsNoEnvelopeIsOneError(_ start: [UInt8], _ name: String) {
        defer { relay.end() }
        // None of these lines must cause another error.
        let tail = Array(String(repeating: "\nmore\n{\n", count: 20_000).utf8)
        world.scratch.write("in", start + tail)
        #expect(world.run("send", input: "in", output: "results") == 65)
        #expect(world.scratch.lines("results").isEmpty)
        let errors = world.errors.split(separator: "\n")
        #expect(errors.count == 2, "\(errors.prefix(5))")
        #expect(errors[0].contains(name), "\(errors[0])")
        #expect(errors[1].contains("encrypt --to"))
    }

    @Test func whiteSpaceIsIgnored() {
        defer { relay.end() }
        let ids = world.envelopes("good", 1)
        let good = TemporaryDirectory.contents(world.scratch("good"))
        world.scratch.write("in", Array("\n \t\r\n".utf8) + good)
        #expect(world.run("send", input: "in", output: "results") == 0)
        #expect(world.ids("results") == ids)
        world.scratch.write("space", Array("\n\n".utf8))
        #expect(world.run("send", input: "space") == 0)
    }

    @Test(arguments: ["send", "recv"])
    func aClosedPipeEndsATool(_ tool: String) throws {
        defer { relay.end() }
        let (input, output) = (world.scratch("input"), world.scratch("output"))
        for fifo in [input, output] { mkfifo(fifo, 0o600) }
        let feed = open(input, O_RDWR | O_CLOEXEC)
        let reader = open(output, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let command = world.command(
            tool, tool == "recv" ? ["--follow"] : [], input: tool == "send" ? "input" : nil,
            output: "output")
        // The reader is closed before there is output.
        close(reader)
        let ids = world.envelopes("in", 1)
        if tool == "recv" {
            #expect(world.run("send", input: "in") == 0)
        } else {
            let line = TemporaryDirectory.contents(world.scratch("in"))
            #expect(write(feed, line, line.count) == line.count)
        }
        #expect(command.wait() == -SIGPIPE)
        close(feed)
        #expect(world.errors.isEmpty, "\(world.errors)")
        // The tool completed the work that it had begun, and lost nothing.
        if tool == "recv" {
            #expect(world.run("recv", output: "again") == 0)
            #expect(world.ids("again") == ids)
        } else {
            #expect(world.run("recv", output: "received") == 0)
            #expect(world.ids("received") == ids)
        }
    }
}
