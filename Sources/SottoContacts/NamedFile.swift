import Sotto
import SottoState
public import SottoTool

/// A contact or a group whose name stands where a file is expected.
public struct NamedFile: Sendable {
    /// The name in messages.
    public let name: String
    /// The argument that names it, quoted for the shell.
    public let argument: String
    /// Whether it is a group.
    public let isGroup: Bool

    /// The hint that shows the contact or the group.
    public var showing: String {
        isGroup
            ? "to show it: sotto group show \(argument)"
            : "to show it: sotto contact show \(argument)"
    }

    /// The hint that shows its messages.
    public var reading: String { "to read the messages: sotto history \(argument) --text" }
}

extension AddressBook {
    /// Returns the contact or the group that is named in place of a file that does not exist. A locked identity is not asked for.
    private static func correspondent(
        insteadOf file: String, _ choice: IdentityChoice, lockTimeout: Double
    ) -> NamedFile? {
        guard file != "-", !file.contains("/"), !RecipientArgument.isFile(file),
            choice.needsNoPrompt
        else { return nil }
        let book = AddressBook(choice.load, lockTimeout: lockTimeout)
        if let contact = (try? book.lookUp(file, for: .acting)) ?? nil {
            return NamedFile(name: contact.name, argument: contact.argument, isGroup: false)
        }
        guard (try? book.group(named: file, for: .acting)) ?? nil != nil else { return nil }
        return NamedFile(name: file, argument: shellWord(file), isGroup: true)
    }

    /// Runs a tool on files. If the tool fails for its input, a file is missing and a contact or a group has its name, the failure
    /// says so, with a hint.
    public static func withFiles<T>(
        _ files: [String?], _ choice: IdentityChoice, lockTimeout: Double,
        hint: (NamedFile) -> String, _ body: () throws -> T
    ) throws -> T {
        do {
            return try body()
        } catch let failure as Failure where [.noInput, .malformed].contains(failure.status) {
            for case let file? in files {
                let found = correspondent(insteadOf: file, choice, lockTimeout: lockTimeout)
                guard let named = found else { continue }
                let kind = named.isGroup ? "group" : "contact"
                throw Failure(
                    .noInput, "\(named.name) is a \(kind), and not a file", hint: hint(named))
            }
            throw failure
        }
    }

    /// Returns the hint for the name of a group in place of that of a contact, or `nil`.
    package func groupHint(for name: String) -> String? {
        guard (try? group(named: name, for: .acting)) ?? nil != nil else { return nil }
        let argument = shellWord(name)
        return "to write to it: sotto say \(argument), or to show it: sotto group show \(argument)"
    }
}
