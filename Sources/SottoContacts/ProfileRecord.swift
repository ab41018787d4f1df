package import Sotto
import SottoState
import SottoTool

/// A profile with the id of its author, as the record `contact-profile`. sotto-formats(5), Contact profile.
package struct ProfileRecord: Sendable {
    /// The author: a contact, or the owner.
    package let id: KeyID
    /// The profile.
    package let profile: OwnerProfile

    package init(id: KeyID, _ profile: OwnerProfile) { (self.id, self.profile) = (id, profile) }

    /// Reads a record. Throws ``FieldError`` for the id, and ``BodyError`` for a member of the profile.
    package init(_ record: JSONObject) throws {
        id = try Fields<FieldError>(record)["id"].keyID()
        profile = try OwnerProfile(record: record)
    }

    /// The record.
    package var record: JSONObject {
        JSONObject(
            [
                ("v", .integer(1)), ("type", .string("contact-profile")),
                ("id", .string(id.description)),
            ] + profile.members)
    }
}

extension OwnerProfile {
    /// The name in quotation marks, or `nil`: its author chose it.
    package var claimedName: String? { name.map { Self.claim($0, to: Table.nameWidth) } }

    /// Returns the rows of a table for people: what the author claims, in quotation marks. Each value is on one line that is not
    /// wide, so that it imitates no other row.
    package var rows: [[String]] {
        let texts = [
            ("calls itself", name), ("about", about), ("phone", phone), ("location", location),
        ]
        var rows = texts.compactMap { label, text in
            text.map { [label, Self.claim($0, to: Self.rowWidth)] }
        }
        if let avatar, let size = JPEGSize(of: avatar) {
            rows.append(["picture", "\(size.width)×\(size.height)"])
        }
        return rows
    }

    /// The greatest displayed width of a value in a row, in columns.
    private static let rowWidth = 48

    /// Returns the lines of the description for people, each at most ``rowWidth`` columns wide.
    package var aboutLines: [String] {
        var lines: [String] = []
        for word in Self.words(of: about ?? "") {
            let word = Table.cut(word, to: Self.rowWidth)
            if let last = lines.last, Table.width(last + " " + word) <= Self.rowWidth {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(word)
            }
        }
        return lines
    }

    /// Returns a text in quotation marks on one line, cut to a width in columns. No character in it ends them, and no run of
    /// spaces moves the rest to the next line of a terminal.
    private static func claim(_ text: String, to width: Int) -> String {
        let line = words(of: text).joined(separator: " ")
        return "\"\(Table.cut(line, to: width).replacingAll("\"", with: "'"))\""
    }

    /// Returns the words of a text. A character that moves the following text, or does not show, becomes U+FFFD.
    private static func words(of text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map { word in
            String(
                String.UnicodeScalarView(
                    word.unicodeScalars.map { $0.isInvisible ? "\u{FFFD}" : $0 }))
        }
    }
}
