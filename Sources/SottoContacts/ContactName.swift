import Sotto
import SottoState
public import SottoTool

/// What a contact may be called: nothing that an argument could mean otherwise, or that reads as another name.
public enum ContactName {
    /// The name as it is kept, without white space around it.
    ///
    /// Throws a failure with status 64 for one that is empty, longer than ``Contact/nameLimit`` bytes, has control
    /// or invisible characters or such as were no UTF-8, begins with `-` or `@`, contains `/`, is `.` or `..`, or
    /// looks like an id, a URI or a recipient, and for `me`, which means the owner of the identity.
    public static func checked(_ text: String) throws(Failure) -> String {
        let name = trimmed(text)
        guard !name.isEmpty else {
            throw Failure(.usage, "there is no name", hint: "give one: --name NAME")
        }
        if let reason = refusal(of: name) {
            throw Failure(.usage, reason, hint: "give another name: --name NAME")
        }
        return name
    }

    private static func refusal(of name: String) -> String? {
        if name.utf8.count > Contact.nameLimit {
            return "a name has at most \(Contact.nameLimit) bytes"
        }
        if name.unicodeScalars.contains(where: \.isInvisible) {
            return "a name has no control or invisible characters"
        }
        // What stands for bytes that are no UTF-8: several such names would read the same.
        if name.unicodeScalars.contains("\u{FFFD}") { return "a name is UTF-8, without U+FFFD" }
        if name == "." || name == ".." { return "a name is not . or .." }
        if name.hasPrefix("-") { return "a name does not begin with -" }
        if name.hasPrefix("@") { return "a name does not begin with @" }
        if name.contains("/") { return "a name has no /" }
        if meansOwner(name) { return "a name is not me, which means yourself" }
        let lower = name.lowercased()
        if lower.hasPrefix("sotto:") || lower.hasPrefix("whisper2:") {
            return "a name does not look like a URI"
        }
        if lower.hasPrefix("age1") { return "a name does not look like an age1… recipient" }
        if looksLikeID(name) { return "a name does not look like an id" }
        return nil
    }

    /// Whether `text` is `me`, without regard to case: the owner of the identity.
    public static func meansOwner(_ text: String) -> Bool { text.lowercased() == "me" }

    /// Whether `text` could be an id or the beginning of one.
    public static func looksLikeID(_ text: String) -> Bool {
        text.utf8.count >= IdentityStore.idPrefix && text.hasPrefix("05")
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
                default: false
                }
            }
    }

    private static func trimmed(_ text: String) -> String {
        let from = text.drop { $0 == " " }
        guard let last = from.lastIndex(where: { $0 != " " }) else { return "" }
        return String(from[...last])
    }
}
