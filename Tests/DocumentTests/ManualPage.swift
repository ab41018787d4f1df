import Foundation

/// A manual page in mdoc, as far as the tests parse it.
struct ManualPage {
    /// An option that the page explains, from an `.It Fl` line.
    struct Option {
        let names: Set<String>
        let value: String?
        /// The explanation on one line.
        let text: String

        /// Returns whether a sentence names this value as the default.
        func states(default value: String) -> Bool {
            guard let start = text.firstMatch(of: #/The default (of \w+ )?is /#) else {
                return false
            }
            let words = text[start.range.upperBound...].split { " ,;".contains($0) }
            return words.contains { $0 == value || $0 == value + "." }
        }
    }

    /// The lines of each section.
    private var sections: [String: [String]] = [:]
    let lines: [String]

    init(_ path: String) throws {
        lines = try Repository.text(path).components(separatedBy: "\n")
        var name = ""
        for line in lines {
            if line.hasPrefix(".Sh ") {
                name = String(line.dropFirst(4))
            } else {
                sections[name, default: []].append(line)
            }
        }
    }

    func section(_ name: String) -> [String] { sections[name] ?? [] }

    /// The options of the section DESCRIPTION.
    var options: [Option] {
        var options: [Option] = []
        var lines = section("DESCRIPTION")[...]
        while let line = lines.popFirst() {
            guard line.hasPrefix(".It Fl ") else { continue }
            let text = lines.prefix { !$0.hasPrefix(".It Fl ") && !$0.hasPrefix(".Ss ") }
            options.append(Self.option(line, text: Self.plain(text)))
        }
        return options
    }

    private static func option(_ line: String, text: String) -> Option {
        var names: Set<String> = []
        var value = ""
        var macro = ""
        for word in line.split(separator: " ").dropFirst() {
            switch word {
            case "Ns": break
            case ",": macro = ""
            // Fl Fl output is --output, like Fl -output.
            case "Fl": macro += "-"
            case "Ar": macro = "Ar"
            default:
                if macro.hasPrefix("-") {
                    names.insert(macro + word)
                } else if !value.hasSuffix(word) || word == ":" {
                    value += word
                }
                macro = macro.hasPrefix("-") ? "" : macro
            }
        }
        return Option(names: names, value: value.isEmpty ? nil : value, text: text)
    }

    /// The subcommands: the literal words (macro Cm) in the SYNOPSIS.
    var subcommands: Set<String> {
        section("SYNOPSIS").reduce(into: []) { names, line in
            if let match = line.firstMatch(of: #/\bCm ([a-z][a-z-]*)/#) {
                names.insert(String(match.1))
            }
        }
    }

    /// The options in the SYNOPSIS; `Fl as` is two options.
    var synopsis: Set<String> {
        var names: Set<String> = []
        for line in section("SYNOPSIS") {
            let words = line.replacing("Fl Fl ", with: "Fl -").split(separator: " ")
            for (index, word) in words.enumerated()
            where (word == "Fl" || word == ".Fl") && index + 1 < words.count {
                let name = words[index + 1]
                if name.hasPrefix("-") {
                    names.insert("-" + name)
                } else {
                    for letter in name { names.insert("-\(letter)") }
                }
            }
        }
        return names
    }

    /// The table of the section EXIT STATUS: numbers, and the first sentence of each.
    var exitStatuses: [(number: Int32, meaning: String)] {
        var rows: [(Int32, String)] = []
        var lines = section("EXIT STATUS")[...]
        while let line = lines.popFirst() {
            guard line.hasPrefix(".It "), let number = Int32(line.dropFirst(4)) else { continue }
            rows.append((number, lines.first ?? ""))
        }
        return rows
    }

    /// The commands on the page: literal lines that begin with `$ `, with their continuation lines.
    var commands: [String] { Self.commands(in: lines) }

    /// Returns the commands of a section.
    func commands(of name: String) -> [String] { Self.commands(in: section(name)) }

    private static func commands(in lines: [String]) -> [String] {
        var commands: [String] = []
        var goesOn = false
        for line in lines {
            var text = line.hasPrefix(".Dl ") ? String(line.dropFirst(4)) : line
            guard goesOn || text.hasPrefix("$ ") else { continue }
            text = text.replacingOccurrences(of: "\\(dq", with: "\"")
            if goesOn {
                commands[commands.count - 1] += text
            } else {
                commands.append(String(text.dropFirst(2)))
            }
            goesOn = text.hasSuffix("\\e")
            if goesOn { commands[commands.count - 1].removeLast(2) }
        }
        return commands
    }

    /// Returns text without macros, to search for words.
    static func plain(_ lines: some Sequence<String>) -> String {
        lines.map { line in
            guard line.hasPrefix(".") else { return line }
            return line.dropFirst().split(separator: " ")
                .filter { !["Ar", "Cm", "Ev", "Fl", "Li", "Ns", "Pq", "Ql", "Va"].contains($0) }
                .joined(separator: " ")
        }.joined(separator: " ")
    }
}
