import SottoBytes
import SottoProgram

/// The names of those to whom a pipe sends.
protocol Recipients {
    /// Gets what the first stage prints; `nil` if this is not needed.
    var observer: ((ArraySlice<UInt8>) -> Void)? { get }
    /// The names in a sentence; `nil` if none is known.
    var text: String? { get }
    /// The only recipient, if it is a group.
    var group: RecipientGroup? { get }
}

extension Recipients {
    var observer: ((ArraySlice<UInt8>) -> Void)? { nil }
}

/// A group that gets messages.
struct RecipientGroup {
    let name: String
    /// The number of members without the owner; `nil` if it is not known.
    let others: Int?

    /// Returns the words for a number of members who get a message.
    func words(forMembers count: Int) -> String {
        guard let others, count < others else {
            // A member with several machines has several mailboxes.
            return "\(name), \(counted(min(count, others ?? count), "member"))"
        }
        return "\(count) of \(counted(others, "member")) of \(name)"
    }
}

/// The recipients that `encrypt` gets as `--to` and `--group`.
struct NamedRecipients: Recipients {
    private var names: [String] = []
    private var groups = 0

    var group: RecipientGroup? {
        guard let name = names.first, names.count == 1, groups == 1 else { return nil }
        return RecipientGroup(name: name, others: nil)
    }

    init(_ arguments: [String]) {
        var words = arguments.prefix { $0 != "--" }
        while let word = words.popFirst() {
            for option in ["--to", "--group"] {
                if word == option, let name = words.popFirst() {
                    names.append(name)
                } else if word.hasPrefix(option + "=") {
                    names.append(String(word.dropFirst(option.count + 1)))
                } else {
                    continue
                }
                if option == "--group" { groups += 1 }
            }
        }
        // The words for a card, such as a URI, are no name.
        if names.contains(where: { $0.count > 64 || $0.contains("/") || $0.contains(":") }) {
            names = []
        }
    }

    var text: String? { sentence(of: names) }
}

/// The recipients in message records.
final class RecordedRecipients: Recipients {
    /// The longest line that is read.
    private static let lineLimit = 1 << 20

    private let identity: SharedIdentity
    private var begun: [UInt8] = []
    /// The ids of people and groups in the order of their first records.
    private var ids: [String] = []
    /// The number of groups among them.
    private var groups = 0

    var group: RecipientGroup? {
        guard let id = ids.first, ids.count == 1, groups == 1 else { return nil }
        let record = list(.group).first { $0["id"]?.string == id }
        return RecipientGroup(
            name: record.flatMap { Self.name(in: $0) } ?? Self.short(id),
            others: record?["members"]?.integer.map { Int($0) - 1 })
    }

    /// The records are for contacts and groups of `identity`.
    init(of identity: SharedIdentity) { self.identity = identity }

    var observer: ((ArraySlice<UInt8>) -> Void)? {
        { [self] bytes in
            begun += bytes
            while let end = begun.firstIndex(of: UInt8(ascii: "\n")) {
                take(Array(begun[..<end]))
                begun.removeFirst(end + 1)
            }
            // The rest of a longer line is no record.
            if begun.count > Self.lineLimit { begun = [] }
        }
    }

    private func take(_ line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line),
            let id = (record["group"] ?? record["to"])?.string, !ids.contains(id)
        else { return }
        ids.append(id)
        if record["group"] != nil { groups += 1 }
    }

    var text: String? {
        guard !ids.isEmpty else { return nil }
        var names: [String: String] = [:]
        for tool in [Tool.contact, .group, .device] where !ids.allSatisfy({ names[$0] != nil }) {
            for record in list(tool) {
                guard let id = record["id"]?.string else { continue }
                names[id] = record["first"] == nil ? Self.name(in: record) : "machine one"
            }
        }
        return sentence(of: ids.map { names[$0] ?? Self.short($0) })
    }

    /// Returns the records that a tool lists.
    private func list(_ tool: Tool) -> [JSONObject] {
        var run = identity.run(tool, ["list", "--json", "-q"])
        run.collectsMessages = true
        return (try? run.run()).map { records(in: $0.output) } ?? []
    }

    private static func name(in record: JSONObject) -> String? {
        let name = (record["called"] ?? record["name"])?.string
        return name == "" ? nil : name
    }

    private static func short(_ id: String) -> String { id.prefix(16) + "…" }
}

/// Returns the records among the lines that a tool printed.
func records(in output: [UInt8]) -> [JSONObject] {
    output.split(separator: UInt8(ascii: "\n")).compactMap {
        try? JSON.object(parsing: Array($0))
    }
}
