import Sotto
import TestSupport

/// Mutates records before they are signed. More than a quarter of the results are in the form of their kind.
struct RecordMutator {
    var random: Generator

    init(_ random: Generator) { self.random = random }

    /// Returns a record with none to three changes.
    mutating func mutate(_ record: JSONObject) -> JSONObject {
        var record = record
        for _ in 0..<random.int(0..<4) { change(&record) }
        return record
    }

    private mutating func change(_ record: inout JSONObject) {
        switch random.int(0..<12) {
        case 0..<5: record[name()] = value(depth: random.int(0..<5))
        case 5:
            // In an object that the record has.
            let objects = record.members.filter { $0.value.object != nil }
            guard let member = objects.randomElement(using: &random),
                var object = member.value.object
            else { return }
            object[name()] = value(depth: random.int(0..<4))
            record[member.name] = .object(object)
        case 6, 7:
            record = JSONObject(
                record.members.shuffled(using: &random).map { ($0.name, $0.value) })
        case 8: record[name()] = .string(String(repeating: "é", count: random.int(0..<4_000)))
        case 9: record[name()] = value(depth: random.int(4..<16))
        case 10: record[name()] = number()
        default:
            guard let member = record.members.randomElement(using: &random) else { return }
            record[member.name] = random.int(0..<2) == 0 ? nil : value(depth: 1)
        }
    }

    private mutating func name() -> String {
        let names = [
            "x", "X", "é", "e\u{301}", "\u{FB33}", "😀", "", "\"", "\u{0}", "a.b", "toString",
        ]
        return names.randomElement(using: &random)! + "\(random.int(0..<100))"
    }

    private mutating func value(depth: Int) -> JSON {
        guard depth > 0 else { return scalar() }
        if random.int(0..<2) == 0 {
            return .array((0..<random.int(1..<3)).map { _ in value(depth: depth - 1) })
        }
        var object: JSONObject = [:]
        for _ in 0..<random.int(1..<3) { object[name()] = value(depth: depth - 1) }
        return .object(object)
    }

    private mutating func scalar() -> JSON {
        switch random.int(0..<10) {
        case 0: return .null
        case 1: return .bool(random.int(0..<2) == 0)
        case 2, 3: return .integer(Int64(random.int(-1_000..<1_000)))
        case 4:
            return .integer([1, -1].randomElement(using: &random)! * JSON.largestSafeInteger)
        case 5: return random.int(0..<6) == 0 ? number() : .integer(0)
        default: return .string(text())
        }
    }

    private mutating func number() -> JSON {
        let numbers: [JSON] = [
            .number(1e20), .number(-1e20), .number(1), .number(-0.0), .number(0.1), .number(5e-324),
            .number(1e300), .integer(1 << 53), .integer(.max), .integer(.min), .number(0x1p63),
        ]
        return numbers.randomElement(using: &random)!
    }

    private mutating func text() -> String {
        let scalars = (0..<random.int(0..<12)).map { _ in
            let value = [0x80, 0x3000, 0x11_0000].randomElement(using: &random)!
            return Unicode.Scalar(UInt32(random.int(0..<value))) ?? "\u{FFFD}"
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

/// The number of records of each kind: few in a usual run, and `SOTTO_PROPERTY_ROUNDS` for `make properties`.
let propertyRounds = environment("SOTTO_PROPERTY_ROUNDS").flatMap { Int($0) }
