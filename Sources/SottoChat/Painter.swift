/// Writes screens to a terminal: only what differs from the screen before.
package struct Painter: Sendable {
    /// Whether colours and other attributes are used. Without them only reversed text is marked.
    package var hasColor: Bool

    /// Creates a painter of a terminal whose content is unknown.
    package init(hasColor: Bool) { self.hasColor = hasColor }

    /// Returns the bytes that begin the use of the terminal: the alternate screen and bracketed paste.
    package static var beginning: [UInt8] { [] }

    /// Returns the bytes that end it.
    package static var ending: [UInt8] { [] }

    /// Forgets what is shown; the next screen is painted whole.
    package mutating func forget() {}

    /// Returns the bytes that show a screen.
    package mutating func paint(_ screen: Screen) -> [UInt8] { [] }
}
