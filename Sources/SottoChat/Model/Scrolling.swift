/// The part of a conversation that fits into a view.
extension Conversation {
    struct View {
        var rows: [MessageRows.Row]
        /// The messages whose last row is shown.
        var numbers: [Int64]
        /// Whether the first entry's first row is shown.
        var reachesTop: Bool
    }

    /// Returns at most `height` rows that end at the anchor.
    func view(_ layout: MessageRows, height: Int) -> View {
        guard !entries.isEmpty, height > 0 else {
            return View(rows: [], numbers: [], reachesTop: true)
        }
        var index = anchor.flatMap { self.index(of: $0.id) } ?? entries.count - 1
        var hidden = anchor?.hidden ?? 0
        var blocks: [[MessageRows.Row]] = []
        var (count, numbers) = (0, [Int64]())
        var reachesTop = false
        while count < height {
            var rows = layout.rows(of: self, at: index)
            let isEndShown = hidden == 0
            rows.removeLast(min(hidden, max(0, rows.count - 1)))
            hidden = 0
            let shown = rows.suffix(height - count)
            if isEndShown, let message = entries[index].message { numbers.append(message.number) }
            blocks.append(Array(shown))
            count += shown.count
            if index == 0 {
                reachesTop = shown.count == rows.count
                break
            }
            index -= 1
        }
        return View(
            rows: Array(blocks.reversed().joined()), numbers: numbers, reachesTop: reachesTop)
    }

    /// Moves the view up by rows, as far as the first entry stays at the top.
    mutating func scrollUp(_ count: Int, _ layout: MessageRows, height: Int) {
        guard !entries.isEmpty else { return }
        var index = anchor.flatMap { self.index(of: $0.id) } ?? entries.count - 1
        var hidden = (anchor?.hidden ?? 0) + count
        while true {
            let rows = layout.rows(of: self, at: index).count
            if hidden < rows { break }
            hidden -= rows
            guard index > 0 else {
                hidden = 0
                break
            }
            index -= 1
        }
        anchor = Anchor(id: entries[index].id, hidden: hidden)
        fillFromTop(layout, height: height)
    }

    /// Moves the view down if rows are left empty above the first entry.
    private mutating func fillFromTop(_ layout: MessageRows, height: Int) {
        let shown = view(layout, height: height)
        if shown.rows.count < height { scrollDown(height - shown.rows.count, layout) }
    }

    /// The anchor at the last entry: `nil` if that is the newest one.
    private var end: Anchor? {
        isDetached ? entries.last.map { Anchor(id: $0.id, hidden: 0) } : nil
    }

    /// Moves the view down by rows, or to the last entry.
    mutating func scrollDown(_ count: Int, _ layout: MessageRows) {
        guard let anchor, var index = index(of: anchor.id) else {
            self.anchor = end
            return
        }
        var hidden = anchor.hidden - count
        while hidden < 0 {
            guard index + 1 < entries.count else {
                self.anchor = end
                return
            }
            index += 1
            hidden += layout.rows(of: self, at: index).count
        }
        self.anchor =
            index == entries.count - 1 && hidden == 0
            ? end : Anchor(id: entries[index].id, hidden: hidden)
    }

    /// Moves the view so that an entry is in its middle, as far as others are loaded.
    mutating func center(_ id: EntryID, _ layout: MessageRows, height: Int) {
        guard var index = index(of: id) else { return }
        let rows = layout.rows(of: self, at: index).count
        // Of a long entry, the beginning is shown.
        anchor = Anchor(id: id, hidden: max(0, min(rows - 1, rows - height)))
        var room = (height - rows) / 2
        while room > 0, index + 1 < entries.count {
            index += 1
            let rows = layout.rows(of: self, at: index).count
            anchor = Anchor(id: entries[index].id, hidden: max(0, rows - room))
            room -= rows
        }
        if index == entries.count - 1, anchor?.hidden == 0 { anchor = end }
        fillFromTop(layout, height: height)
    }

    /// Whether the view is near the last entry, and newer messages are not loaded.
    var needsLater: Bool {
        guard isDetached else { return false }
        let bottom = anchor.flatMap { index(of: $0.id) } ?? entries.count - 1
        return bottom + 20 >= entries.count
    }

    /// Moves the view so that the entry at an index begins at its top, if the rows below fill it.
    mutating func showAtTop(_ index: Int, _ layout: MessageRows, height: Int) {
        var (count, place) = (0, index)
        while place < entries.count {
            let rows = layout.rows(of: self, at: place).count
            if count + rows > height {
                // An entry without a row in the view is not its bottom.
                let hidden = count + rows - height
                let isHidden = hidden >= rows && place > 0
                anchor = Anchor(
                    id: entries[isHidden ? place - 1 : place].id, hidden: isHidden ? 0 : hidden)
                return
            }
            count += rows
            place += 1
        }
        anchor = end
    }

    /// Moves the view so that the line of unread messages is at its top.
    mutating func showUnreadLine(_ layout: MessageRows, height: Int) {
        guard let line = unreadLine, let index = index(of: .message(line.number)) else { return }
        showAtTop(index, layout, height: height)
        unreadAnchor = anchor
    }

    /// Whether the view begins with the line of unread messages, and was not moved.
    var isAtUnreadLine: Bool { anchor != nil && anchor == unreadAnchor }

    /// Moves the view as far as needed to show an entry whole, or its beginning.
    mutating func reveal(_ id: EntryID, _ layout: MessageRows, height: Int) {
        guard let target = index(of: id) else { return }
        let bottom = anchor.flatMap { index(of: $0.id) } ?? entries.count - 1
        let rows = layout.rows(of: self, at: target).count
        if target > bottom || (target == bottom && (anchor?.hidden ?? 0) > 0) {
            anchor =
                target == entries.count - 1
                ? end : Anchor(id: id, hidden: max(0, rows - height))
            return
        }
        var (count, place) = (-(anchor?.hidden ?? 0), bottom)
        while place >= target {
            count += layout.rows(of: self, at: place).count
            if count > height {
                showAtTop(target, layout, height: height)
                return
            }
            place -= 1
        }
    }
}
