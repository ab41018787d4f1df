import Sotto
import SottoTool

extension JSONObject {
    /// The members of a record for people: a row for each, except `v` and `type`, with its name in words.
    var table: Table {
        var table = Table()
        for (name, value) in members where name != "v" && name != "type" {
            table.add([Self.words(name), value.shown])
        }
        return table
    }

    /// Returns the name of a member in words: `missingSince` is "missing since".
    private static func words(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { words, scalar in
            if ("A"..."Z").contains(scalar) { words += " " }
            words += String(scalar).lowercased()
        }
    }
}

extension JSON {
    /// The value on one line.
    fileprivate var shown: String {
        switch self {
        case .null: "-"
        case .bool(let value): value ? "yes" : "no"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): value
        case .array(let values): values.map(\.shown).joined(separator: "; ")
        case .object(let object):
            object.members.map { "\($0.name)=\($0.value.shown)" }.joined(separator: " ")
        }
    }
}
