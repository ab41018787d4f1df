import Foundation
import Testing

/// The tables of members in the pages, compared with the JSON Schemas.
@Suite("The schemas")
struct SchemaTests {
    /// The pages that describe records.
    static let pages = ["man/sotto-formats.5", "man/group.1"]

    /// Tables of objects inside a record, each with the place of its schema.
    static let inner = [
        "The suite ratchet": (
            type: "envelope", path: ["allOf", "1", "then", "properties", "payload"]
        ),
        "BODIES": (type: "body", path: ["allOf", "15", "then"]),
    ]
    /// Tables of objects that exist only inside an encrypted message, so that no program prints them.
    static let encrypted: Set = [
        "Chains", "The suite group", "The body group", "Files of changes",
    ]
    /// The place of the required members of types whose records have two forms.
    static let forms = [
        "Message": ["else", "then"], "Message for encrypt": ["else", "else"],
        "OUTPUT group": ["else"],
    ]
    /// Sections that name further members of a type.
    static let further = ["message": ["Conversation", "History backup"]]
    /// Members that depend on the act of a change.
    static let acts: Set = ["who", "rank"]

    @Test("have the members of each table, and the same ones are optional")
    func tables() throws {
        var count = 0
        for page in try Self.pages.map({ try RecordPage($0) }) {
            for table in page.tables where !Self.encrypted.contains(table.section) {
                let place = Self.inner[table.section]
                let type = try #require(place?.type ?? table.type, "\(table.section)")
                let schema = try Schema(type).at(place?.path ?? [])
                let form = Self.forms[table.section] ?? Self.forms["\(table.section) \(type)"] ?? []
                let required = schema.required.union(try schema.at(form).required)
                for member in table.members {
                    #expect(schema.members.contains(member.name), "\(type): \(member.name)")
                    #expect(
                        required.contains(member.name) == !member.isOptional,
                        "\(type) in \(table.section): \(member.name)")
                }
                count += 1
            }
        }
        #expect(count > 24)
    }

    /// Records in the sources without a schema, because no program prints them.
    static let unprinted: Set = ["room-content"]

    /// A record of a new type gets a schema, which `record.json` selects, and a place in a page.
    @Test("exist for each type of record in the sources")
    func sources() throws {
        let begin =
            #/"v"[,:]\s*\.integer\(1\)\)?,\s*\(?"type"[,:]\s*\.string\("(?<type>[a-z-]+)"\)/#
        var types: Set<String> = []
        for path in try Repository.files(in: "Sources") where path.hasSuffix(".swift") {
            let text = try Repository.text("Sources/\(path)")
            types.formUnion(text.matches(of: begin).map { String($0.output.type) })
        }
        #expect(types.count > 30 && types.isSuperset(of: ["group-policy", "message", "member"]))
        let known = try Set(Schema.types)
        #expect(types.subtracting(known) == Self.unprinted)
        let selected = try Schema("record").constants
        #expect(selected == known)
        let pages = try Self.pages.map { try RecordPage($0) }
        for type in known {
            #expect(pages.contains { !$0.sections(about: type).isEmpty }, "\(type)")
        }
    }

    @Test("have only members that the sections about their type name")
    func members() throws {
        let pages = try Self.pages.map { try RecordPage($0) }
        for type in try Schema.types {
            let schema = try Schema(type)
            var known: Set<String> = ["v", "type"]
            for page in pages {
                let sections = page.sections(about: type) + (Self.further[type] ?? [])
                known.formUnion(page.names(in: sections))
            }
            let missing = schema.members.subtracting(known)
            #expect(missing.isEmpty, "\(type)")
        }
        // A body is described by what it has with each type.
        let bodies = try RecordPage(Self.pages[0]).names(in: ["BODIES"])
        for place in 0...15 {
            let members = try Schema("body").at(["allOf", "\(place)", "then"]).members
            #expect(members.isSubset(of: bodies), "\(members.subtracting(bodies))")
        }
    }

    @Test("fit the records that the page shows")
    func examples() throws {
        var count = 0
        for (section, record) in try RecordPage(Self.pages[0]).examples
        where !Self.encrypted.contains(section) {
            guard let type = record["type"] as? String, try Schema.types.contains(type) else {
                continue
            }
            let schema = try Schema(type)
            let names = Set(record.keys)
            #expect(schema.required.isSubset(of: names), "\(type)")
            #expect(names.subtracting(Self.acts).isSubset(of: schema.members), "\(type)")
            count += 1
        }
        #expect(count > 14)
    }
}

/// A JSON Schema, or a part of one.
private struct Schema {
    private let node: [String: Any]

    /// The types that have a schema.
    static var types: [String] {
        get throws {
            try Repository.names(in: "share/schema").map { String($0.dropLast(".json".count)) }
                .filter { !["definitions", "record", "body"].contains($0) }
        }
    }

    init(_ type: String) throws {
        let data = try Data(contentsOf: Repository.url("share/schema/\(type).json"))
        node = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any], "\(type)")
    }

    private init(node: [String: Any]) { self.node = node }

    /// Returns the part at a path of names and of places in arrays.
    func at(_ path: [String]) throws -> Schema {
        var value: Any = node
        for step in path {
            let next = (value as? [String: Any])?[step]
            let element = (value as? [Any]).flatMap { list in
                Int(step).flatMap { list.indices.contains($0) ? list[$0] : nil }
            }
            value = try #require(next ?? element, "\(path)")
        }
        return Schema(node: try #require(value as? [String: Any], "\(path)"))
    }

    /// The types that the parts of `allOf` select.
    var constants: Set<String> {
        get throws {
            let parts = node["allOf"] as? [Any] ?? []
            return try Set(
                parts.indices.map { place in
                    let path = ["allOf", "\(place)", "if", "properties", "type"]
                    return try #require(at(path).node["const"] as? String)
                })
        }
    }

    var members: Set<String> { Set((node["properties"] as? [String: Any] ?? [:]).keys) }

    var required: Set<String> { Set(node["required"] as? [String] ?? []) }
}

/// A manual page that describes records.
private struct RecordPage {
    /// A list whose entries are members.
    struct Table {
        let section: String
        /// The last type that the section names before the table, or `nil`.
        let type: String?
        var members: [(name: String, isOptional: Bool)] = []
    }

    /// The lines of each section and subsection.
    private let sections: [(name: String, lines: [String])]

    init(_ path: String) throws {
        var sections: [(name: String, lines: [String])] = [("", [])]
        for line in try Repository.text(path).components(separatedBy: "\n") {
            if line.hasPrefix(".Sh ") || line.hasPrefix(".Ss ") {
                sections.append((String(line.dropFirst(4)), []))
            } else {
                sections[sections.count - 1].lines.append(line)
            }
        }
        self.sections = sections
    }

    /// Returns the type of record that a line names: one of the words of `.Ql` after `type`, or an example.
    private static func recordType(in line: String, after previous: String) -> String? {
        if let match = line.firstMatch(of: #/^\{"v":1,"type":"([a-z-]+)"/#) {
            return String(match.1)
        }
        guard previous.contains(#/(records? of|has the) type$/#),
            let match = line.firstMatch(of: #/^\.Ql ([a-z-]+)( |$)/#)
        else { return nil }
        return String(match.1)
    }

    private static func types(in lines: [String]) -> [String] {
        zip(lines, [""] + lines).compactMap { recordType(in: $0, after: $1) }
    }

    /// Returns the sections that name a type, or explain it in a list.
    func sections(about type: String) -> [String] {
        sections.filter { section in
            Self.types(in: section.lines).contains(type)
                || section.lines.contains(".It Ql \(type)")
                || section.lines.contains { $0.contains("\"type\":\"\(type)\"") }
                || section.lines.joined(separator: "\n").contains("of type\n.Ql \(type)\n")
        }.map { $0.name }
    }

    /// Returns the members that sections name, in lists, in sentences and in examples.
    func names(in wanted: [String]) -> Set<String> {
        var names: Set<String> = []
        for section in sections where wanted.contains(section.name) {
            for line in section.lines {
                if let match = line.firstMatch(of: #/^\.(It )?Va (.*)/#) {
                    names.formUnion(Self.words(String(match.2)))
                }
                names.formUnion(line.matches(of: #/"(\w+)":/#).map { String($0.1) })
            }
        }
        return names
    }

    /// Returns the names in the arguments of `Va`, which commas separate.
    private static func words(_ text: String) -> [String] {
        text.split { " ,.;:".contains($0) }.map(String.init)
    }

    var tables: [Table] {
        sections.flatMap { section -> [Table] in
            section.lines.indices.compactMap { place -> Table? in
                section.lines[place].hasPrefix(".Bl -tag")
                    ? Self.table(section.name, section.lines, at: place) : nil
            }
        }
    }

    private static func table(_ section: String, _ lines: [String], at start: Int) -> Table? {
        let intro = lines[..<start].last { $0 != ".Pp" } ?? ""
        var table = Table(section: section, type: types(in: Array(lines[..<start])).last)
        var depth = 0
        var entries: [(names: [String], text: String)] = []
        for line in lines[start...] {
            if line.hasPrefix(".Bl") { depth += 1 }
            if line.hasPrefix(".El") { depth -= 1 }
            guard depth > 0 else { break }
            if depth == 1, line.hasPrefix(".It") {
                let isMember = line.hasPrefix(".It Va ")
                entries.append((isMember ? words(String(line.dropFirst(7))) : [], ""))
            } else if !entries.isEmpty {
                entries[entries.count - 1].text += " " + line
            }
        }
        for (names, text) in entries {
            let isOptional =
                intro.hasSuffix("may also have:") || text.contains(#/\babsent\b|\boptional\b/#)
            table.members += names.map { (name: $0, isOptional: isOptional) }
        }
        return table.members.isEmpty ? nil : table
    }

    /// The whole records in the examples, with their sections.
    var examples: [(section: String, record: [String: Any])] {
        sections.flatMap { section -> [(section: String, record: [String: Any])] in
            var literal: String?
            var records: [(section: String, record: [String: Any])] = []
            func end() {
                let text = (literal ?? "").replacing("\\(em", with: "")
                    .replacing("{...}", with: "{}")
                let value = try? JSONSerialization.jsonObject(with: Data(text.utf8))
                if let record = value as? [String: Any] {
                    records.append((section: section.name, record: record))
                }
                literal = nil
            }
            for line in section.lines {
                if line.hasPrefix("{\"v\":1,") {
                    end()
                    literal = line
                } else if line.hasPrefix(".") {
                    end()
                } else if let begun = literal {
                    literal = begun + line
                }
            }
            end()
            return records
        }
    }
}
