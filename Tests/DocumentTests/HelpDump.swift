import Foundation
import TestSupport

/// The output of a tool with `--dump-help`.
struct HelpDump: Decodable {
    struct Argument: Decodable {
        let names: [String]
        let value: String?
        let `default`: String?
    }

    let name: String
    let arguments: [Argument]
    let commands: [HelpDump]

    /// Runs the built program.
    static func of(_ tool: String) throws -> HelpDump {
        let run = try Home().run(tool, ["--dump-help"])
        return try JSONDecoder().decode(HelpDump.self, from: Data(run.stdout))
    }

    /// The names of the subcommands.
    var subcommands: [String] { commands.map(\.name) }

    /// The options of the tool and of its subcommands, each once.
    var flags: [Flag] {
        var flags: [Flag] = []
        for argument in ([self] + commands).flatMap(\.arguments) where !argument.names.isEmpty {
            let flag = Flag(argument)
            guard let known = flags.firstIndex(where: { $0.names == flag.names }) else {
                flags.append(flag)
                continue
            }
            // A default in one form of the command applies to the page.
            flags[known].defaultValue = flags[known].defaultValue ?? flag.defaultValue
        }
        return flags
    }

    /// An option: `-o`, `--output`, its value's name and default.
    struct Flag {
        let names: Set<String>
        let value: String?
        /// Whether the value's name differs from the option's name.
        let hasOwnValueName: Bool
        var defaultValue: String?

        init(_ argument: Argument) {
            names = Set(argument.names)
            value = argument.value
            hasOwnValueName = !argument.names.contains { $0 == "--\(argument.value ?? "")" }
            defaultValue = argument.default
        }
    }
}
