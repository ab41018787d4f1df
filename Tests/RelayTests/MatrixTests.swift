import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

/// Each transport, plain and over TLS, with each store, through the built programs; the relay is killed meanwhile.
@Suite(.serialized, .timeLimit(.minutes(60))) struct MatrixTests {
    /// Alice, who sends, and Bob, who receives, both over one transport.
    final class Conversation: Sendable {
        let scratch = TemporaryDirectory()
        let scheme: RelayURL.Scheme
        private let url: String

        /// Creates both identities.
        init(by scheme: RelayURL.Scheme, _ url: String) throws {
            self.scheme = scheme
            self.url = url
            for who in ["alice", "bob"] {
                try #require(run(who, "keygen --name \(who) -o \(who).key -q") == 0, "\(errors)")
            }
            try #require(run("bob", "keygen public bob.key > bob.card") == 0, "\(errors)")
        }

        /// Starts a shell command in the directory of both.
        func begin(_ who: String, _ line: String) -> ChildProcess {
            ChildProcess(
                "/bin/bash", ["-o", "pipefail", "-c", "cd \"$FILES\" && \(line)"],
                environment: [
                    "SOTTO_HOME": scratch("state-\(who)"), "SOTTO_RELAY": url,
                    "SOTTO_IDENTITY": scratch("\(who).key"), "FILES": scratch.path,
                    "PATH": "\(Programs.directory):/usr/bin:/bin",
                ], errors: scratch("errors"))
        }

        func run(_ who: String, _ line: String) -> Int32 { begin(who, line).wait() }

        var errors: String {
            String(decoding: TemporaryDirectory.contents(scratch("errors")), as: UTF8.self)
        }

        /// Writes a file with `count` texts, one on each line, and returns them.
        func texts(_ name: String, _ count: Int) -> [String] {
            let texts = (1...count).map { "\(name) \($0) by \(scheme.rawValue)" }
            scratch.write(name, Array(texts.map { $0 + "\n" }.joined().utf8))
            return texts
        }
    }

    @Test(arguments: StoreKind.available)
    func everyTransportAndStoreLosesAndRepeatsNothing(_ kind: StoreKind) throws {
        let place = StoreFixture()
        let store = try place.location(kind)
        let options = [
            "--tls-cert", place.scratch("cert.pem"), "--tls-key",
            place.scratch("key.pem"),
            "--tls-self-signed",
        ]
        var relay = try #require(RelayProcess(place.scratch, options, store: store))
        let address = relay.address
        let line = place.scratch.lines("relay.log").first { $0.contains("#sha256=") }
        let pin = try #require(line?.split(separator: " ").last)
        func restart() throws {
            relay.command.kill(SIGKILL)
            relay.command.wait()
            relay = try #require(
                RelayProcess(
                    place.scratch, listen: address, options, store: store))
        }

        let conversations = try RelayURL.Scheme.allCases.map { scheme in
            try Conversation(
                by: scheme, "\(scheme.rawValue)://\(address)" + (scheme.isSecure ? pin : ""))
        }
        // The relay is killed while all of them send, once each has had an answer.
        let first = conversations.map { $0.texts("first", 60) }
        let senders = conversations.map {
            $0.begin("alice", "encrypt --to bob.card --jsonl < first | send > sent")
        }
        let deadline = Monotonic.seconds() + 120
        while conversations.contains(where: { $0.scratch.lines("sent").isEmpty }),
            Monotonic.seconds() < deadline
        { usleep(2_000) }
        relay.command.kill(SIGKILL)
        relay.command.wait()
        for (conversation, sender) in zip(conversations, senders) {
            #expect(
                [0, 75].contains(sender.wait()), "\(conversation.scheme): \(conversation.errors)")
        }
        // Mail that is written meanwhile is queued.
        let second = conversations.map { $0.texts("second", 5) }
        for conversation in conversations {
            let status = conversation.run(
                "alice", "encrypt --to bob.card --jsonl < second | send > queued")
            #expect(status == 75, "\(conversation.scheme): \(conversation.errors)")
        }
        try restart()
        for conversation in conversations {
            #expect(
                conversation.run("alice", "send > rest") == 0,
                "\(conversation.scheme): \(conversation.errors)")
        }
        // Bob receives all mail, in order, each once.
        for (index, conversation) in conversations.enumerated() {
            let status = conversation.run("bob", "recv > received")
            #expect(status == 0, "\(conversation.scheme): \(conversation.errors)")
            #expect(conversation.run("bob", "decrypt --text -q < received > read") == 0)
            let expected = first[index] + second[index]
            #expect(conversation.scratch.lines("read") == expected, "\(conversation.scheme)")
        }
        // Acknowledged mail does not come again, not even to a machine without state.
        try restart()
        for conversation in conversations {
            let status = conversation.run("bob", "rm -r state-bob && recv > again")
            #expect(status == 1, "\(conversation.scheme): \(conversation.errors)")
            #expect(conversation.scratch.lines("again").isEmpty)
        }
        // The conversation continues.
        for conversation in conversations {
            let third = conversation.texts("third", 1)
            let line = "encrypt --to bob.card < third | send -q > sent3"
            #expect(conversation.run("alice", line) == 0, "\(conversation.scheme)")
            #expect(conversation.run("bob", "recv | decrypt --text -q > read3") == 0)
            #expect(conversation.scratch.lines("read3") == third, "\(conversation.scheme)")
        }
        #expect(relay.end() == 0)
    }
}
