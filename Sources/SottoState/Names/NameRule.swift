import Sotto

/// The purpose of a name on the command line, which decides how much of the name is required.
public enum NameUse: Sendable {
    /// To read. The beginning of exactly one name is enough.
    case reading
    /// To send or to change something. The name must be whole.
    case acting
}

/// The rule for the names of people, groups and chats. All tools use it:
///
/// 1. A whole id means its owner. The beginning of an id is at least ``IdentityStore/idPrefix`` characters long, or
///    ``idLength`` to send or to change.
/// 2. A whole name means a person before a group or a chat. Case, normalization forms and outer spaces do not count.
/// 3. To read, the name that a group had when it was here is enough, or the beginning of exactly one name.
///
/// An abbreviated id can end with `…`, as the tools print it.
package enum NameRule {
    /// The length of an abbreviated id in the output of the tools, in characters.
    package static let idLength = 16

    /// A name or an id that is known here.
    package struct Known: Sendable {
        package let meaning: Conversation
        let id: String
        /// The name, or an empty text.
        let name: String
        let folded: [UInt8]
        /// The folded name that a group had when it was here, or an empty one.
        let former: [UInt8]

        package init(_ meaning: Conversation, id: String, name: String, former: String = "") {
            (self.meaning, self.id, self.name) = (meaning, id, name)
            folded = NameRule.folded(name)
            self.former = NameRule.folded(former)
        }

        /// Returns whether the folded name of a new contact could be mistaken for this one: it is the same or its beginning, or
        /// this is the name of a group and its beginning. The group would lose its name.
        package func isLike(folded new: [UInt8]) -> Bool {
            guard !folded.isEmpty, !new.isEmpty else { return false }
            return folded.starts(with: new) || meaning.group != nil && new.starts(with: folded)
        }

        /// The name, or the beginning of the id.
        package var shown: String { name.isEmpty ? String(id.prefix(idLength)) : name }
    }

    /// Returns what a text means, or `nil` if nothing known has this name or id.
    package static func meaning(
        of text: String, among known: [Known], for use: NameUse
    ) throws(NameError) -> Conversation? {
        let wanted = folded(withoutEllipsis(text))
        guard !wanted.isEmpty else { return nil }
        let id = String(decoding: wanted, as: UTF8.self)
        func isChat(_ known: Known) -> Bool {
            if case .chat = known.meaning { true } else { false }
        }
        // The id of a chat is a text that an import can choose.
        if let whole = known.first(where: { $0.id == id && !isChat($0) }) { return whole.meaning }
        var begun: [Known] = []
        if isHexadecimal(wanted), wanted.count >= IdentityStore.idPrefix {
            begun = known.filter { !isChat($0) && $0.id.utf8.starts(with: wanted) }
            if wanted.count >= idLength, let found = try only(begun, text) {
                return found
            }
        }
        let whole = known.filter { $0.folded == wanted || $0.id == id }
        let people = whole.filter { $0.meaning.peer != nil }
        if let found = try only(people.isEmpty ? whole : people, text) { return found }
        let named = known.filter { $0.folded.starts(with: wanted) }
        let former = known.filter { $0.former == wanted }
        guard use == .acting else {
            if let found = try only(former, text) { return found }
            let meanings = Set((begun + named).map(\.meaning))
            guard meanings.count > 1 else { return meanings.first }
            throw .severalBegin(text, shown(begun + named))
        }
        guard former.isEmpty else { throw .former(text, shown(former)) }
        guard begun.isEmpty || !named.isEmpty else {
            throw .idNotWhole(text, begun.map { String($0.id.prefix(idLength)) })
        }
        guard named.isEmpty else { throw .notWhole(text, shown(begun + named)) }
        return nil
    }

    /// Returns the text without the `…` that follows an abbreviated id.
    private static func withoutEllipsis(_ text: String) -> String {
        let trimmed = trimmed(text)
        guard trimmed.hasSuffix("…") else { return text }
        let beginning = String(trimmed.dropLast())
        let folded = folded(beginning)
        return folded.count >= idLength && isHexadecimal(folded) ? beginning : text
    }

    /// Returns the only meaning of some names or ids, or `nil` for none.
    private static func only(_ some: [Known], _ text: String) throws(NameError) -> Conversation? {
        let meanings = Set(some.map(\.meaning))
        guard meanings.count < 2 else {
            throw .several(text, some.map { String($0.id.prefix(idLength)) })
        }
        return meanings.first
    }

    private static func shown(_ some: [Known]) -> [String] {
        Set(some.map(\.shown)).sorted { (caseFolded($0), $0) < (caseFolded($1), $1) }
    }

    /// Returns the text without surrounding spaces, as the name of a contact is stored.
    package static func trimmed(_ text: String) -> String {
        let from = text.drop { $0 == " " }
        guard let last = from.lastIndex(where: { $0 != " " }) else { return "" }
        return String(from[...last])
    }

    /// Returns the form in which names are compared: trimmed, and after ``nameFolded(_:)``.
    package static func folded(_ text: String) -> [UInt8] {
        Array(nameFolded(trimmed(text)).utf8)
    }

    /// Returns the forms of a name in which names that look alike are compared: two names look alike if they have a form in
    /// common. They are the skeletons (UTS 39, section 4) of the name and of its folded form, each folded: a capital `I` looks
    /// like `l` only as it is written, and a Cyrillic `А` is compared with a small `a` only in the folded form.
    package static func lookAlikeForms(of name: String) -> Set<[UInt8]> {
        let trimmed = trimmed(name)
        let forms = [trimmed, nameFolded(trimmed)].map { folded(skeleton(of: $0)) }
        return Set(forms.filter { !$0.isEmpty })
    }

    /// Returns whether two names are the same.
    package static func areSame(_ a: String, _ b: String) -> Bool { folded(a) == folded(b) }

    /// Returns whether a name is another one or its beginning.
    package static func isBeginning(_ name: String, of other: String) -> Bool {
        let folded = folded(name)
        return !folded.isEmpty && self.folded(other).starts(with: folded)
    }

    /// Returns whether a text is `me`: the owner of the identity.
    package static func meansOwner(_ text: String) -> Bool { folded(text) == Array("me".utf8) }

    private static func isHexadecimal(_ text: [UInt8]) -> Bool {
        text.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Returns whether a folded name could be mistaken for `me`, an id, or the beginning of one.
    static func isReserved(_ folded: [UInt8], ids: SortedNames) -> Bool {
        if folded == Array("me".utf8) { return true }
        guard isHexadecimal(folded), folded.count >= IdentityStore.idPrefix else { return false }
        return folded.count >= idLength || folded.starts(with: [0x30, 0x35])
            || !ids.beginning(with: folded).isEmpty
    }
}

/// The reason why a text is not a name. The texts are the given one, and the names or ids that it can mean.
package enum NameError: Error, Sendable, Equatable {
    /// To read: several names or ids begin with the text.
    case severalBegin(String, [String])
    /// To send or to change: the text is only the beginning of a name or an id.
    case notWhole(String, [String])
    /// To send or to change: the text is a too short beginning of ids, whose abbreviations follow.
    case idNotWhole(String, [String])
    /// To send or to change: the text is the name of a group that is not here any more; its present name in the history follows.
    case former(String, [String])
    /// The text is the whole name of several, whose ids follow.
    case several(String, [String])
}

/// Folded names in order, so that those with a beginning are found without a comparison of all.
struct SortedNames {
    private let names: [(folded: [UInt8], group: GroupID?)]

    init(_ names: [(folded: [UInt8], group: GroupID?)]) {
        self.names = names.sorted { $0.folded.lexicographicallyPrecedes($1.folded) }
    }

    /// Returns the names that are a text or begin with it.
    func beginning(with text: [UInt8]) -> ArraySlice<(folded: [UInt8], group: GroupID?)> {
        var (low, high) = (0, names.count)
        while low < high {
            let middle = (low + high) / 2
            if names[middle].folded.lexicographicallyPrecedes(text) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return names[low...].prefix { $0.folded.starts(with: text) }
    }
}
