import Arguments
import Testing

extension ArgumentTests {
    /// Tests of parsing command lines. They are parsed one at a time, as in a program.
    struct ParsingTests {
        enum Color: String, CaseIterable, ExpressibleByArgument { case red, green, blue }

        struct Size: ExpressibleByArgument {
            static let argumentForm = "a number with cm"
            init?(argument: String) { if !argument.hasSuffix("cm") { return nil } }
        }

        struct Shared: ArgumentGroup {
            @Option("-i", "--identity", value: "file", help: "Identity file.")
            var identities: [String] = []

            func validate() throws {
                if identities.contains("refused") { throw UsageError("refused is not allowed") }
            }
        }

        struct Paint: Command {
            static let configuration = CommandConfiguration(name: "paint", abstract: "Paint files.")

            @Flag("-q", "--quiet", help: "Print nothing.")
            var quiet = false

            @Flag("-a", "--armor", help: "Write text.")
            var armor = false

            @Option("-o", "--output", value: "file", help: "Output file.")
            var output: String?

            @Option("--color", value: "color", help: "The color.")
            var color = Color.red

            @Option("-n", "--number", value: "n", help: "Number of files.", values: .any)
            var number = 1

            @OptionGroup var shared: Shared

            @Argument("file", help: "Input file.")
            var file: String

            @Argument("more", help: "Further files.")
            var more: [String] = []

            func validate() throws {
                if number < 0 { throw UsageError("--number is 0 or more") }
            }

            func execute() {}
        }

        struct Cut: Command {
            static let configuration = CommandConfiguration(name: "cut", abstract: "Cut paper.")

            @Option("--size", value: "size", help: "The size.")
            var size: Size?

            func execute() {}
        }

        struct Mix: Command {
            static let configuration = CommandConfiguration(name: "mix", abstract: "Mix colors.")

            @Option("--with", value: "color", help: "Other color.")
            var other: Color

            @Argument("names", help: "Input file.")
            var names: [String]

            func execute() {}
        }

        struct Studio: Command {
            static let configuration = CommandConfiguration(
                name: "studio", abstract: "Colors.", version: "1.2.3",
                subcommands: [Paint.self, Mix.self], defaultSubcommand: Paint.self)

            func execute() {}
        }

        struct Runner: Command {
            static let configuration = CommandConfiguration(name: "runner", abstract: "Runs.")

            @Argument("word", help: "Input file.", values: .theRest)
            var words: [String] = []

            func execute() {}
        }

        private func paint(_ words: String...) throws -> Paint {
            try #require(try Paint.parse(words) as? Paint)
        }

        private func refusal(_ words: String...) -> String? {
            #expect(throws: UsageError.self) { try Paint.parse(words) }?.message
        }

        @Test func requiredArgumentsAloneLeaveTheDefaults() throws {
            let paint = try paint("a")
            #expect(!paint.quiet && !paint.armor && paint.output == nil && paint.color == .red)
            #expect(paint.number == 1 && paint.shared.identities.isEmpty)
            #expect(paint.file == "a" && paint.more.isEmpty)
        }

        @Test func aValueIsTheNextWordOrJoined() throws {
            for words in [["-o", "x"], ["-ox"], ["-o=x"], ["--output", "x"], ["--output=x"]] {
                let paint = try #require(try Paint.parse(words + ["a"]) as? Paint)
                #expect(paint.output == "x" && paint.file == "a")
            }
            #expect(try paint("--output=", "a").output?.isEmpty == true)
            #expect(try paint("--output=x=y", "a").output == "x=y")
            // A combining mark does not hide the equals sign before it.
            #expect(try paint("--output=\u{301}x", "a").output == "\u{301}x")
            #expect(try paint("-o\u{301}x", "a").output == "\u{301}x")
            #expect(try paint("-o", "-", "a").output == "-")
            #expect(refusal("-o", "x", "--output=x", "a") == "'--output' is given twice")
        }

        @Test func shortFlagsCanBeCombined() throws {
            let both = try paint("-qa", "a")
            #expect(both.quiet && both.armor)
            #expect(try paint("-qao", "x", "a").output == "x")
            #expect(try paint("-qox", "a").output == "x")
        }

        @Test func optionsAndArgumentsCanBeMixed() throws {
            let paint = try paint("a", "-q", "b", "--output", "x", "c", "-")
            #expect(paint.quiet && paint.output == "x")
            #expect(paint.file == "a" && paint.more == ["b", "c", "-"])
        }

        @Test func twoDashesEndTheOptions() throws {
            let paint = try paint("-q", "--", "-a", "--output", "--")
            #expect(paint.quiet && !paint.armor && paint.output == nil)
            #expect(paint.file == "-a" && paint.more == ["--output", "--"])
        }

        @Test func repeatedValuesReplaceTheDefault() throws {
            #expect(try paint("-i", "x", "--identity=y", "a").shared.identities == ["x", "y"])
        }

        @Test func anOptionIsAValueOnlyIfAnyWordIsAccepted() throws {
            #expect(refusal("a", "-o", "--armor") == "missing value for '-o <file>'")
            #expect(refusal("a", "-o") == "missing value for '-o <file>'")
            #expect(refusal("a", "--number", "-5") == "--number is 0 or more")
            #expect(try paint("-o=-5", "a").output == "-5")
        }

        @Test func errorsNameTheArgument() throws {
            #expect(refusal() == "missing expected argument '<file>'")
            #expect(refusal("a", "--bogus") == "unknown option '--bogus'")
            #expect(
                refusal("a", "--colour", "red")
                    == "unknown option '--colour'; did you mean '--color'?")
            #expect(refusal("a", "-qx") == "unknown option '-x'")
            #expect(refusal("a", "--quiet=yes") == "'--quiet' takes no value")
            #expect(refusal("a", "-n", "x") == "the value 'x' is invalid for '-n <n>'")
            #expect(
                refusal("a", "--color", "pink")
                    == "the value 'pink' is invalid for '--color <color>'; valid values are red, green, blue"
            )
            #expect(
                throws: UsageError(
                    "the value '5' is invalid for '--size <size>'; give a number with cm")
            ) { try Cut.parse(["--size", "5"]) }
            #expect(refusal("a", "-i", "refused") == "refused is not allowed")
            #expect(refusal("--bogus", "-o") == "unknown option '--bogus'")
        }

        @Test func aSubcommandIsTheFirstWord() throws {
            let mix = try #require(try Studio.parse(["mix", "a", "--with", "blue", "b"]) as? Mix)
            #expect(mix.other == .blue && mix.names == ["a", "b"])
            let paint = try #require(try Studio.parse(["-q", "mix"]) as? Paint)
            #expect(paint.quiet && paint.file == "mix")
            #expect(throws: UsageError("missing expected argument '--with <color>'")) {
                try Studio.parse(["mix", "a"])
            }
            #expect(throws: UsageError("missing expected argument '<names>'")) {
                try Studio.parse(["mix", "--with", "red"])
            }
            #expect(throws: UsageError("unknown command 'mux'; did you mean 'mix'?")) {
                try Studio.parse(["help", "mux"])
            }
        }

        @Test func aSurplusWordMayBeAMisplacedCommand() throws {
            struct Bare: Command {
                static let configuration = CommandConfiguration(
                    name: "bare", abstract: "Takes none.")
                @Flag("-q", help: "Quiet.")
                var quiet = false
                func execute() {}
            }
            struct Root: Command {
                static let configuration = CommandConfiguration(
                    name: "root", abstract: "Has two.", subcommands: [Bare.self, Mix.self],
                    defaultSubcommand: Bare.self)
                func execute() {}
            }
            func refusal(_ words: String...) -> String? {
                #expect(throws: UsageError.self) { try Root.parse(words) }?.message
            }
            struct NoDefault: Command {
                static let configuration = CommandConfiguration(
                    name: "none", abstract: "Has one.", subcommands: [Mix.self])
                func execute() {}
            }
            #expect(throws: UsageError("unknown command 'mixx'; did you mean 'mix'?")) {
                try NoDefault.parse(["mixx"])
            }
            #expect(throws: UsageError("unknown option '--hepl'; did you mean '--help'?")) {
                try NoDefault.parse(["--hepl"])
            }
            #expect(try NoDefault.parse([]) is NoDefault)
            #expect(throws: UsageError("the command must come first, before '-q'")) {
                try NoDefault.parse(["-q", "mix"])
            }
            #expect(refusal("mux") == "unknown command 'mux'; did you mean 'mix'?")
            #expect(refusal("imx") == "unknown command 'imx'; did you mean 'mix'?")
            #expect(refusal("baer") == "unknown command 'baer'; did you mean 'bare'?")
            struct Needing: Command {
                static let configuration = CommandConfiguration(
                    name: "needing", abstract: "Requires an option.")
                @Option("--with", value: "word", help: "A word.")
                var word: String
                func execute() {}
            }
            struct Demanding: Command {
                static let configuration = CommandConfiguration(
                    name: "demanding", abstract: "Has two.",
                    subcommands: [Needing.self, Mix.self], defaultSubcommand: Needing.self)
                func execute() {}
            }
            #expect(throws: UsageError("unknown command 'mux'; did you mean 'mix'?")) {
                try Demanding.parse(["mux"])
            }
            #expect(refusal("-q", "mix") == "the command 'mix' must come first")
            #expect(refusal("-q", "x") == "unexpected argument 'x'")
            #expect(throws: UsageError("the command 'mix' must come first")) {
                try Root.parse(["-q", "mix"])
            }
            #expect(refusal("bare", "x", "y") == "2 unexpected arguments, the first is 'x'")
        }

        @Test func helpAndVersionIgnoreOtherErrors() throws {
            func text(_ words: String...) throws -> String {
                try #require(#expect(throws: TextRequest.self) { try Studio.parse(words) }).text
            }
            #expect(try text("--version") == "1.2.3" && text("mix", "--version") == "1.2.3")
            #expect(try text("--help") == Studio.help && text("help") == Studio.help)
            #expect(try text("help", "--help") == Studio.help)
            #expect(try text("--bogus", "-h") == Studio.help)
            #expect(try text("mix", "--bogus", "--help") == text("help", "mix"))
            #expect(try text("help", "mix").hasPrefix("OVERVIEW: Mix colors.\n\nUSAGE: studio mix"))
            #expect(throws: UsageError("unknown option '--version'")) {
                try Paint.parse(["--version"])
            }
            #expect(try paint("--", "--help").file == "--help")
        }

        /// Otherwise a command line with an error would appear to have worked.
        @Test func helpMustBeASeparateWord() throws {
            #expect(refusal("a", "-qh") == "'-h' must be given alone")
            #expect(refusal("a", "--help=1") == "'--help' must be given alone")
            #expect(refusal("a", "-o", "-h") == "missing value for '-o <file>'")
            #expect(refusal("a", "--output", "--help") == "missing value for '--output <file>'")
            #expect(throws: UsageError("missing value for '--with <color>'")) {
                try Studio.parse(["mix", "--with", "--version"])
            }
            #expect(try paint("a", "-n", "1", "-o--help").output == "--help")
        }

        @Test func aLongWordIsTruncated() throws {
            let long = String(repeating: "x", count: 100_000)
            #expect(refusal("a", "--" + long)?.count == "unknown option ''".count + 61)
            #expect((refusal("a", "-n", long)?.count ?? 0) < 200)
        }

        @Test func theCommandNameIsTheOneInItsHelp() {
            #expect(Studio.nameOfCommand(in: ["mix", "--bogus"]) == "studio mix")
            #expect(Studio.nameOfCommand(in: ["--bogus"]) == "studio paint")
            #expect(Paint.nameOfCommand(in: ["mix"]) == "paint")
        }

        struct Back: Command {
            static let configuration = CommandConfiguration(name: "back", abstract: "Count back.")

            @Flag("-q", help: "Print nothing.")
            var quiet = false

            @Argument("target", help: "A number.", values: .any)
            var target: String

            @Argument("more", help: "Further numbers.", values: .any)
            var more: [String]

            func execute() {}
        }

        @Test func aPositionalArgumentMayTakeNegativeNumbers() throws {
            let back = try #require(try Back.parse(["-12", "-q", "-0", "x"]) as? Back)
            #expect(back.target == "-12" && back.more == ["-0", "x"] && back.quiet)
            for words in [["-1x", "-2"], ["--1", "-2"], ["-q1", "-2"], ["-x", "-2"]] {
                #expect(throws: UsageError.self) { try Back.parse(words) }
            }
            // Only where it is declared.
            #expect(throws: UsageError.self) { try Paint.parse(["-1"]) }
        }

        @Test func aCommandThatForwardsWordsParsesNone() throws {
            let runner = try #require(try Runner.parse(["a", "--help", "--", "-x"]) as? Runner)
            #expect(runner.words == ["a", "--help", "--", "-x"])
        }

        @Test func theHelpNamesEachArgument() {
            #expect(
                Paint.help == """
                    OVERVIEW: Paint files.

                    USAGE: paint [--quiet] [--armor] [--output <file>] [--color <color>]
                             [--number <n>] [--identity <file> ...] <file> [<more> ...]

                    ARGUMENTS:
                      <file>                  Input file.
                      <more>                  Further files.

                    OPTIONS:
                      -q, --quiet             Print nothing.
                      -a, --armor             Write text.
                      -o, --output <file>     Output file.
                      --color <color>         The color. (values: red, green, blue; default: red)
                      -n, --number <n>        Number of files. (default: 1)
                      -i, --identity <file>   Identity file.
                      -h, --help              Show help information.
                    """)
        }

        @Test func theDescriptionCoversAllCommands() throws {
            let studio = Studio.commandDescription
            #expect(studio.subcommands.map(\.name) == ["paint", "mix"])
            #expect(studio.defaultSubcommand == "paint")
            let color = try #require(
                studio.subcommands[0].arguments.first { $0.names == ["--color"] })
            #expect(color.choices == ["red", "green", "blue"] && color.defaultValue == "red")
            #expect(studio.arguments.map(\.names) == [["--version"], ["-h", "--help"]])
        }
    }
}
