import Foundation

/// Finds the commands in hints: in a program's output, and in the string literals of the sources.
enum HintText {
    /// The first words of commands.
    static let tools = [
        "keygen", "bridge", "contact", "device", "group", "encrypt", "decrypt", "fingerprint", "qr",
        "pad",
        "send",
        "recv",
        "history", "compose", "relay", "sotto", "chmod", "ssh-keygen", "find", "export", "ls",
    ]

    /// Returns the commands of a hint: the text after its last colon, or all of it; `, or ` separates alternatives.
    static func commands(in hint: String) -> [String] {
        hint.components(separatedBy: ", or ").compactMap { part in
            let command = part.components(separatedBy: ": ").last ?? part
            if command.wholeMatch(of: #/«\w+Command»/#) != nil { return command }
            let words = command.split(separator: " ", maxSplits: 1)
            // The name of the program itself is an interpolation.
            if words.first == "…", words.last == "--help" { return command }
            guard words.count == 2, tools.contains(String(words[0])),
                words[1].first.map({ $0.isLetter || $0.isNumber || "-./…'".contains($0) }) == true
            else { return nil }
            return command
        }
    }

    /// Returns the programs of this project that the commands of a hint name without `sotto`.
    static func shortNames(in hint: String) -> [String] {
        let others = ["sotto", "chmod", "ssh-keygen", "find", "export", "ls"]
        let parts: [String] = commands(in: hint).map { $0.components(separatedBy: " | ") }
            .flatMap(\.self)
        let programs: [String] = parts.compactMap { part in
            part.split(separator: " ").first.map { String($0) }
        }
        return programs.filter { tools.contains($0) && !others.contains($0) }
    }

    /// Returns whether a printed line has this hint, in which `…` and `«…»` match any text.
    static func matches(_ line: String, _ hint: String) -> Bool {
        var rest = line[...]
        for piece in pieces(of: hint) {
            if piece.isEmpty { continue }
            guard let range = rest.range(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    private static func pieces(of hint: String) -> [String] {
        hint.replacing(#/«\w+»/#, with: "…").components(separatedBy: "…")
    }

    /// Returns the string literals of a line of Swift, with `…` for an interpolation and `«name»` for an interpolated
    /// command.
    static func literals(in line: String) -> [String] {
        let characters = Array(line)
        var literals: [String] = []
        var place = 0
        while place < characters.count {
            if characters[place] == "/", place + 1 < characters.count, characters[place + 1] == "/"
            {
                break
            }
            guard characters[place] == "\"" else {
                place += 1
                continue
            }
            place += 1
            var text = ""
            while place < characters.count, characters[place] != "\"" {
                guard characters[place] == "\\", place + 1 < characters.count else {
                    text.append(characters[place])
                    place += 1
                    continue
                }
                guard characters[place + 1] == "(" else {
                    text += String(characters[place...(place + 1)])
                    place += 2
                    continue
                }
                let start = place + 2
                place = start
                var depth = 1
                while place < characters.count, depth > 0 {
                    if characters[place] == "(" { depth += 1 }
                    if characters[place] == ")" { depth -= 1 }
                    place += 1
                }
                let inner = String(characters[start..<max(start, place - 1)])
                text += inner.firstMatch(of: #/\w*Command\b/#).map { "«\($0.output)»" } ?? "…"
            }
            place += 1
            literals.append(text)
        }
        return literals
    }

    /// Returns the literals with commands in the sources, each with a file that contains it.
    static func inSources() throws -> [String: String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Sources")
        var found: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        where path.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            var isInside = false
            for line in text.components(separatedBy: "\n") {
                if line.components(separatedBy: "\"\"\"").count == 2 {
                    isInside.toggle()
                    continue
                }
                if isInside || line.contains("usage:") || line.contains("abstract:") { continue }
                for literal in literals(in: line)
                where !commands(in: literal).isEmpty && !literal.contains("[--") {
                    found[literal] = path
                }
            }
        }
        return found
    }
}
