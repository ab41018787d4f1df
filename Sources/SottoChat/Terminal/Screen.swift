/// The content of the terminal.
package struct Screen: Sendable, Equatable {
    /// The colours of a half block, as numbers of the 256 colours of terminals.
    package struct Halves: Sendable, Hashable {
        package var upper: UInt8
        /// `nil` for the background of the terminal.
        package var lower: UInt8?

        package init(upper: UInt8, lower: UInt8?) { (self.upper, self.lower) = (upper, lower) }
    }

    /// The appearance of a text.
    package struct Style: Sendable, Hashable {
        package enum Color: UInt8, Sendable, Hashable {
            case red = 1
            case green = 2
            case yellow = 3
            case magenta = 5
            case cyan = 6
        }

        package var color: Color?
        /// The colours of a part of a picture; only terminals with 256 colours get one.
        package var halves: Halves?
        package var isBold = false
        package var isDim = false
        package var isReversed = false

        package init() {}

        package static let plain = Style()
    }

    /// A text of one style, which can be shown as it is: it has no control characters, and its width is known.
    package struct Span: Sendable, Hashable {
        package var text: String
        package var style: Style

        package init(_ text: String, _ style: Style = .plain) {
            (self.text, self.style) = (text, style)
        }
    }

    /// A place of the cursor; both begin with 0.
    package struct Place: Sendable, Hashable {
        package var row: Int
        package var column: Int

        package init(row: Int, column: Int) { (self.row, self.column) = (row, column) }
    }

    /// The parts of the state that a screen shows. The loop gives it back as soon as the user can see it.
    package struct Shown: Sendable, Equatable {
        /// The question, if the whole of it is shown.
        var question: Question?
        /// The items of the list in their order, or `nil` if the list is not shown.
        var items: [ChatList.Item.ID]?
        /// The messages whose last row is shown, or `nil` if no conversation is shown.
        var messages: Messages?
    }

    /// Messages of a conversation.
    struct Messages: Sendable, Equatable {
        let key: ConversationKey
        let numbers: [Int64]
    }

    package var columns: Int
    package var shown = Shown()
    /// The rows of the terminal. None is wider than ``columns``.
    package var rows: [[Span]]
    /// The place of the cursor, or `nil` if it is hidden.
    package var cursor: Place?

    package init(columns: Int, rows: [[Span]], cursor: Place?) {
        (self.columns, self.rows, self.cursor) = (columns, rows, cursor)
    }

    /// Whether the rows fit, the cursor is inside, and no text moves the cursor or changes the direction of writing.
    package var isSound: Bool {
        if let cursor, !(0..<columns).contains(cursor.column) || !rows.indices.contains(cursor.row)
        {
            return false
        }
        return rows.allSatisfy { row in
            row.reduce(0) { $0 + Cells.width($1.text) } <= columns
                && row.allSatisfy { $0.text.unicodeScalars.allSatisfy(Self.isHarmless) }
        }
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        default:
            !(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
        }
    }

    /// The text of the rows, a line each, without spaces at their ends.
    package var text: String {
        rows.map { row in
            var line = row.map(\.text).joined()
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}
