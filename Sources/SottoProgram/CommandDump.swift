import Arguments
import SottoBytes

extension CommandDescription {
    /// The description as JSON. The completions and the tests of the manual pages are based on it.
    var json: JSONObject {
        JSONObject([
            ("name", .string(name)), ("abstract", .string(abstract)),
            ("arguments", .array(arguments.map { .object($0.json) })),
            ("default", defaultSubcommand.map { .string($0) }),
            ("commands", .array(subcommands.map { .object($0.json) })),
        ])
    }
}

extension CommandDescription.Argument {
    fileprivate var json: JSONObject {
        JSONObject([
            ("names", .array(names.map { .string($0) })), ("value", valueName.map { .string($0) }),
            ("help", .string(help)), ("choices", .array(choices.map { .string($0) })),
            ("default", defaultValue.map { .string($0) }), ("repeats", .bool(isRepeating)),
        ])
    }
}
