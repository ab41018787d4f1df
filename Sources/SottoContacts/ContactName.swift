import Sotto
public import SottoBytes
import SottoState
import SottoTool

/// The rules for names of contacts: a name must not be mistaken for another kind of argument or for another name.
public enum ContactName {
    /// Returns the name as it is stored, without surrounding white space.
    ///
    /// Throws a failure with status 64 for a name that is empty, is longer than ``Contact/nameLimit`` bytes, has
    /// control or invisible characters or was not UTF-8, begins with `-` or `@`, contains `/`, is `.` or `..`, looks
    /// like an id, a URI or a recipient, or is `me`, which means the owner of the identity.
    public static func checked(_ text: String) throws(Failure) -> String {
        let name = NameRule.trimmed(text)
        guard !name.isEmpty else {
            throw Failure(.usage, "the name is empty", hint: "give a name with --name NAME")
        }
        if let reason = refusal(of: name) {
            throw Failure(.usage, reason, hint: "give another name with --name NAME")
        }
        return name
    }

    private static func refusal(of name: String) -> String? {
        if name.utf8.count > Contact.nameLimit {
            return "the name is longer than \(Contact.nameLimit) bytes"
        }
        if let reason = characterRefusal(of: name) { return reason }
        if name == "." || name == ".." { return "the name is . or .." }
        if name.hasPrefix("-") { return "the name begins with -" }
        if name.hasPrefix("@") { return "the name begins with @" }
        if name.contains("/") { return "the name contains /" }
        if meansOwner(name) { return "the name is me, which means yourself" }
        let lower = nameFolded(name)
        if RecipientArgument.isURI(name) {
            return "the name looks like a URI"
        }
        if lower.hasPrefix("age1") { return "the name looks like an age1… recipient" }
        if looksLikeID(name) { return "the name looks like an id" }
        return nil
    }

    /// Returns why no contact, group or member can have a name with these characters, or `nil`: control or invisible
    /// characters, such as those that change the direction of text.
    package static func characterRefusal(of name: String) -> String? {
        if name.unicodeScalars.contains(where: \.isInvisible) {
            return "the name has control or invisible characters"
        }
        if !name.isEmpty, NameRule.folded(name).isEmpty {
            return "the name has no visible character"
        }
        // The replacement character represents invalid UTF-8: several such names would look the same.
        return name.unicodeScalars.contains("\u{FFFD}")
            ? "the name is not UTF-8 or has U+FFFD" : nil
    }

    /// Returns whether `text` is `me`, ignoring case: the owner of the identity.
    public static func meansOwner(_ text: String) -> Bool { NameRule.meansOwner(text) }

    /// Returns whether `text` could be an id or the beginning of one.
    public static func looksLikeID(_ text: String) -> Bool {
        text.utf8.count >= IdentityStore.idPrefix && text.hasPrefix("05")
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
                default: false
                }
            }
    }
}
