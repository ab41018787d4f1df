import Foundation
import TestSupport

/// What a tool says of itself with `--experimental-dump-help`.
struct HelpDump: Decodable {
    struct Command: Decodable {
        let commandName: String
        let arguments: [Argument]?
        let subcommands: [Command]?
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }
        let kind: String
        let names: [Name]?
        let valueName: String?
        let defaultValue: String?
        let shouldDisplay: Bool
    }

    let command: Command

    /// Asks the built program.
    static func of(_ tool: String) throws -> HelpDump {
        let run = try Home().run(tool, ["--experimental-dump-help"])
        return try JSONDecoder().decode(HelpDump.self, from: Data(run.stdout))
    }

    /// The names of the subcommands, without the "help" that ArgumentParser adds to the dump.
    var subcommands: [String] {
        (command.subcommands ?? []).map(\.commandName).filter { $0 != "help" }
    }

    /// The options of the tool and of its subcommands, each once.
    var flags: [Flag] {
        let forms =
            [command] + (command.subcommands ?? []).filter { $0.commandName != "help" }
        var flags: [Flag] = []
        for argument in forms.flatMap({ $0.arguments ?? [] })
        where argument.kind != "positional" && argument.shouldDisplay {
            let flag = Flag(argument)
            guard let known = flags.firstIndex(where: { $0.names == flag.names }) else {
                flags.append(flag)
                continue
            }
            // A default of one form is a default of the page.
            flags[known].defaultValue = flags[known].defaultValue ?? flag.defaultValue
        }
        return flags
    }

    /// An option: `-o`, `--output`, its value's name and default.
    struct Flag {
        let names: Set<String>
        let value: String?
        /// Whether the value's name was chosen, or is only the option's own again.
        let hasOwnValueName: Bool
        var defaultValue: String?

        init(_ argument: Argument) {
            let names = argument.names ?? []
            self.names = Set(names.map { ($0.kind == "short" ? "-" : "--") + $0.name })
            value = argument.kind == "flag" ? nil : argument.valueName
            hasOwnValueName = !names.contains { $0.name == argument.valueName }
            defaultValue = argument.kind == "flag" ? nil : argument.defaultValue
        }
    }
}
