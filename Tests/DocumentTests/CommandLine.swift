import Foundation

/// The commands of this project on a line of shell.
struct ShownCommand {
    let tool: String
    let flags: [String]
    /// Whether the command has a name that each installation has on the path: `sotto keygen` or `sotto-keygen`.
    let isOnPath: Bool

    /// Finds commands: the first word of a line or a pipeline's part, or the word after `sotto`.
    static func all(in line: String) -> [ShownCommand] {
        var line = line
        // Quoted text is not a command, except the command of --exec.
        line = line.replacing(#/'[^']*'/#) { match in
            (["sotto"] + Repository.tools).contains { match.output.hasPrefix("'\($0) ") }
                ? "; " + match.output.dropFirst().dropLast() : "QUOTED"
        }
        line = line.replacing(#/(^|\s)#.*$/#, with: "")
        return line.split(whereSeparator: { "|;&()<>".contains($0) }).compactMap { part in
            var words = part.split(separator: " ").map(String.init)[...]
            if words.first == "$" { words = words.dropFirst() }
            let isThroughSotto = words.first == "sotto"
            if isThroughSotto { words = words.dropFirst() }
            guard let word = words.popFirst() else { return nil }
            let tool = word.replacingOccurrences(of: "sotto-", with: "")
            guard Repository.tools.contains(tool) else { return nil }
            // sotto takes --send itself.
            return ShownCommand(
                tool: tool,
                flags: words.filter {
                    $0.hasPrefix("-") && !["-", "--"].contains($0)
                        && !(isThroughSotto && $0 == "--send")
                }, isOnPath: isThroughSotto || word != tool)
        }
    }

    /// Returns the flags that the tool does not have.
    func unknownFlags() throws -> [String] {
        let known = try HelpDump.of(tool).flags.reduce(into: Set<String>()) {
            $0.formUnion($1.names)
        }
        return flags.filter { flag in
            if known.contains(flag) { return false }
            // -1 is the last message.
            if tool == "compose", Int(flag) != nil { return false }
            // -as means -a -s.
            return flag.hasPrefix("--") || flag.dropFirst().contains { !known.contains("-\($0)") }
        }
    }
}

/// A Markdown document.
struct Markdown {
    let text: String

    init(_ path: String) throws { text = try Repository.text(path) }

    /// Returns the blocks of code in a language.
    func blocks(_ language: String) -> [String] {
        text.components(separatedBy: "\n```\(language)\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    /// The targets of links to files.
    var links: [String] {
        text.matches(of: #/\]\(([^)#:]+)\)/#).map { String($0.1) }
    }
}
