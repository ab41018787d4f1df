/// Completion by Tab.
extension ChatState {
    mutating func complete() {
        let before = editor.beforeCursor
        let name = before.dropFirst().prefix { !$0.isWhitespace }
        guard before.hasPrefix("/"), !before.hasPrefix("//") else {
            if case .forward? = subject { return complete(before, from: names, end: "") }
            let word = before.reversed().prefix { !$0.isWhitespace }
            return complete(
                String(word.reversed()), from: names, end: word.count == before.count ? ": " : " ")
        }
        if name.count + 1 == before.count {
            let commands = SlashCommand.allCases.filter {
                !$0.isForGroups || conversation?.key.isGroup == true
            }
            return complete(String(name), from: commands.map(\.rawValue), end: " ")
        }
        let rest = String(before.dropFirst(name.count + 2))
        switch SlashCommand(rawValue: String(name)) {
        case .file?:
            let folder = Self.folder(of: rest)
            completionFolder = folder
            effects.append(.list(folder: Self.unquoted(folder)))
        case let command? where command.takesName: complete(rest, from: names, end: "")
        default: break
        }
    }

    /// Takes the names of a folder.
    mutating func complete(_ folder: String, _ found: [String]) {
        let before = editor.beforeCursor
        guard let wanted = completionFolder, before.hasPrefix("/file ") else { return }
        completionFolder = nil
        let rest = String(before.dropFirst("/file ".count))
        guard Self.folder(of: rest) == wanted, Self.unquoted(wanted) == folder else { return }
        let word = String(rest.dropFirst(wanted.count))
        let shown = found.filter {
            Cells.plain($0) == $0 && (word.hasPrefix(".") || !$0.hasPrefix("."))
        }
        guard let mark = Self.openMark(of: wanted) else {
            return complete(word, from: shown.map(Self.quoted), end: "")
        }
        complete(word, from: shown.filter { !$0.contains(mark) }, end: String(mark))
    }

    /// The folder of a path as it is typed, with the quotation mark before it.
    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? openMark(of: path).map(String.init)
            ?? ""
    }

    /// The quotation mark at the beginning of a path that is still open.
    private static func openMark(of path: String) -> Character? {
        guard let mark = path.first, "'\"".contains(mark),
            !path.count(where: { $0 == mark }).isMultiple(of: 2)
        else { return nil }
        return mark
    }

    private static func quoted(_ name: String) -> String {
        name.reduce(into: "") { out, character in
            if character.isWhitespace || "\\'\"".contains(character) { out.append("\\") }
            out.append(character)
        }
    }

    private static func unquoted(_ path: String) -> String {
        var words = ShellWords(path)
        return words.next() ?? ""
    }

    private var names: [String] {
        let others = members.filter { !$0.isMe }.map(\.name)
        let groups = list.groups.filter { $0.standing == "member" }.map(\.name)
        return others + list.contacts.map(\.name) + groups
    }

    /// Completes a word before the cursor as far as all candidates agree.
    private mutating func complete(_ word: String, from candidates: [String], end: String) {
        let wanted = word.lowercased()
        let found = Array(Set(candidates.filter { $0.lowercased().hasPrefix(wanted) })).sorted()
        guard let first = found.first else { return }
        if found.count == 1 {
            editor.replace(last: word.count, with: first + (first.hasSuffix("/") ? "" : end))
            return
        }
        var common = first
        for name in found { common = Self.common(common, name) }
        if common.count > word.count { editor.replace(last: word.count, with: common) }
        say(found.prefix(30).joined(separator: "  "))
    }

    private static func common(_ a: String, _ b: String) -> String {
        String(zip(a, b).prefix { $0.lowercased() == $1.lowercased() }.map(\.0))
    }
}
