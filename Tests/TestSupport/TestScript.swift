/// A script of Tests/Scripts: what people type, what they see, and how each command ends.
///
///     # A comment.
///     relay                    starts a relay, or starts it again at the same address
///     relay stop               ends it
///     alice$ COMMAND           a line of shell of alice, with a separate directory and home; it must exit with 0
///     ! alice$ COMMAND         it must fail
///     !11 alice$ COMMAND       it must exit with 11
///     stdout PATTERN           the output of the last command contains a match, as for `stderr PATTERN`
///     ! stdout PATTERN         it contains none
///     cmp FILE FILE            two files are equal; `stdout` and `stderr` are those of the last command
///     -- FILE --               the lines below it are the content of a file
///
/// The programs of share/examples are in `PATH`, too. Files are named from the directory above those of the people. A line that ends with a backslash continues.
package struct TestScript: Sendable {
    /// A line that does something.
    package struct Step: Sendable {
        package let line: Int
        let text: String
        package let action: Action

        package init(line: Int, text: String, _ action: Action) {
            (self.line, self.text, self.action) = (line, text, action)
        }
    }

    /// The command or the expectation of a step.
    package enum Action: Sendable {
        case startRelay
        case stopRelay
        /// A line of shell. An empty name is the directory above those of the people.
        case command(by: String, String, Ending)
        case matches(Stream, pattern: String, isExpected: Bool)
        /// A line that the last command printed to either stream.
        case printed(String)
        case equal(String, String)
    }

    /// The expected end of a command.
    package enum Ending: Sendable, Equatable {
        case failure
        case status(Int32)
    }

    /// The outputs of a command.
    package enum Stream: String, Sendable { case stdout, stderr }

    /// A line that is not part of this language.
    package struct SyntaxError: Error, CustomStringConvertible {
        package let line: Int
        let text: String
        package var description: String { "line \(line) is no step: \(text)" }
    }

    package let steps: [Step]
    /// The content of each file.
    let files: [String: String]

    package init(steps: [Step]) { (self.steps, files) = (steps, [:]) }

    /// Parses the text of a script.
    package init(_ text: String) throws(SyntaxError) {
        var steps: [Step] = []
        var files: [String: String] = [:]
        var file: String?
        var begun: (line: Int, text: String)?
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        for (index, line) in lines.enumerated() {
            if let name = line.wholeMatch(of: #/--\ (\S+)\ --/#)?.1 {
                file = String(name)
                files[String(name)] = ""
            } else if let file {
                files[file]! += line + "\n"
            } else {
                let whole = (begun?.line ?? index + 1, (begun?.text ?? "") + line)
                begun = line.hasSuffix("\\") ? (whole.0, whole.1 + "\n") : nil
                guard begun == nil, !line.isEmpty, !line.hasPrefix("#") else { continue }
                guard let action = Self.action(whole.1) else {
                    throw SyntaxError(line: whole.0, text: whole.1)
                }
                steps.append(Step(line: whole.0, text: whole.1, action))
            }
        }
        (self.steps, self.files) = (steps, files)
    }

    private static func action(_ text: String) -> Action? {
        switch text {
        case "relay": return .startRelay
        case "relay stop": return .stopRelay
        default: break
        }
        if let match = text.wholeMatch(
            of: #/(?:!([0-9]*)\ )?([a-z]+)\$\ (.+)/#.dotMatchesNewlines())
        {
            let ending: Ending =
                switch match.1 {
                case nil: .status(0)
                case let digits?: Int32(digits).map { .status($0) } ?? .failure
                }
            return .command(by: String(match.2), String(match.3), ending)
        }
        if let match = text.wholeMatch(of: #/(!\ )?(stdout|stderr)\ (.+)/#),
            let stream = Stream(rawValue: String(match.2)), (try? Regex(String(match.3))) != nil
        {
            return .matches(stream, pattern: String(match.3), isExpected: match.1 == nil)
        }
        if let match = text.wholeMatch(of: #/cmp\ (\S+)\ (\S+)/#) {
            return .equal(String(match.1), String(match.2))
        }
        return nil
    }
}
