import Arguments
import Testing

extension ArgumentTests {
    /// Tests of the arguments that a mode of a command refuses.
    struct CommandModeTests {
        enum Mode: String, CommandMode {
            case plain = ""
            case fast = "-f"
            case slow = "--slow"

            var title: String { self == .plain ? "plain driving" : rawValue }

            var takes: String {
                switch self {
                case .plain: "<file> -q"
                case .fast: "-f --speed -q --limit"
                case .slow: "--slow -q <file> --limit"
                }
            }
        }

        struct Drive: Command {
            static let configuration = CommandConfiguration(name: "drive", abstract: "Drive.")

            @Flag("-q", "--quiet", help: "Print nothing.") var quiet = false
            @Flag("-f", "--fast", help: "Drive fast.") var fast = false
            @Flag("--slow", help: "Drive slowly.") var slow = false
            @Option("-s", "--speed", value: "n", help: "Speed.") var speed = 1
            @Option("--limit", value: "n", help: "Limit.") var limit = 1
            @Argument("file", help: "Input file.") var file: String?
            let given = GivenArguments()

            func checkMode() throws {
                try given.check(for: fast ? Mode.fast : slow ? .slow : .plain)
            }

            func validate() throws {
                if slow { try given.refuse("-q", with: "--slow") }
            }

            func execute() {}
        }

        private func refusal(_ words: String...) -> String? {
            #expect(throws: UsageError.self) { try Drive.parse(words) }?.message
        }

        @Test func argumentsOfTheModeAreTaken() throws {
            _ = try Drive.parse(["-q", "a"])
            _ = try Drive.parse(["-f", "--quiet", "-s", "1", "--limit=1"])
            _ = try Drive.parse(["--slow", "a", "--limit=1"])
        }

        @Test func anotherArgumentIsRefusedByTheNameThatWasGiven() {
            #expect(refusal("--limit", "1") == "--limit is only for -f, --slow")
            #expect(refusal("--speed=1", "a") == "--speed is only for -f")
            #expect(
                refusal("-s1", "--slow") == "-s cannot be combined with --slow; it is only for -f")
            #expect(
                refusal("-f", "a")
                    == "<file> cannot be combined with -f; it is only for --slow, plain driving")
            #expect(refusal("--slow", "--fast") == "--slow cannot be combined with -f")
            #expect(refusal("--slow", "--quiet") == "--quiet cannot be combined with --slow")
        }
    }
}
