import Foundation
import TestSupport
import Testing

/// `chat` with an `encrypt` or a `send` that is killed: its tools are scripts.
@Suite(.needs(.bash)) struct ChatLossTests {
    private let home = Home()

    /// Runs `chat bob` with lines. A tool that `killed` names is killed in its first run that gets a text.
    private func run(_ input: String, killing killed: String) throws -> Run {
        let script = """
            #!/bin/bash
            die() {
                if [ "$1" = '\(killed)' ] && [ ! -e died ]; then : > died; kill -9 $$; fi
            }
            case "${0##*/} $1 $2" in
                "keygen unlock --status") echo unprotected ;;
                "compose text --")
                    read -r text
                    printf '{"v":1,"type":"message","to":"05aa","body":{"type":"text","text":"%s"}}\\n' "$text" ;;
                "encrypt -q ")
                    while read -r line; do
                        die encrypt
                        printf '{"v":1,"type":"envelope","id":"e%s","to":"05aa","payload":%s}\\n' $$ "$line"
                    done ;;
                "send  ")
                    while read -r line; do
                        die send
                        echo "$line" >> sent
                        id="${line#*\\"id\\":\\"}"
                        printf '{"v":1,"type":"result","id":"%s","to":"05aa","status":"stored"}\\n' "${id%%\\"*}"
                    done ;;
                "history --follow "* | "recv --follow "*) exec sleep 1000 ;;
                "decrypt -q "*) exec cat ;;
            esac
            """
        let tools = [
            "keygen", "compose", "history", "recv", "decrypt", "contact", "group", "encrypt",
            "send",
        ]
        for tool in tools { home.files.write(tool, Array(script.utf8), mode: 0o700) }
        // As in ChatRecordTests, another process copies the file.
        let chat = home.files("chat")
        #expect(try Command(path: "/bin/cp", [Programs.path("chat"), chat]).run().status == 0)
        var environment = home.environment
        environment["PATH"] = "/usr/bin:/bin"
        environment["LD_LIBRARY_PATH"] = Programs.directory
        return try Command(
            path: chat, ["bob"], environment: environment, directory: home.files.path
        ).run(stdin: .whole(Array(input.utf8)))
    }

    /// The texts of the envelopes that reached `send`.
    private func sent() throws -> [String] {
        let lines = String(decoding: try home.files.read("sent"), as: UTF8.self).split(
            separator: "\n")
        return lines.map { line in
            let text = line.components(separatedBy: #""text":""#).last ?? ""
            return String(text.prefix { $0 != "\"" })
        }
    }

    @Test func aKilledEncryptIsTold() throws {
        let run = try run("one\ntwo\nthree\n", killing: "encrypt")
        #expect(run.status == 137, "\(run.stderr)")
        #expect(run.stderr.contains("encrypt ended with status 137"))
        #expect(try sent() == ["two", "three"])
    }

    @Test func aKilledSendLosesNothing() throws {
        let run = try run("one\ntwo\nthree\n", killing: "send")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try sent() == ["one", "two", "three"])
    }
}
