/// A key of a terminal, as ``KeyDecoder`` reads it.
package enum Key: Sendable, Hashable {
    /// Typed text: one or more characters without control characters.
    case text(String)
    case enter
    /// A line break in the text: Alt-Enter or Ctrl-J.
    case lineBreak
    case tab
    case backTab
    case backspace
    case delete
    case escape
    case up
    case down
    /// Alt or Ctrl with an arrow.
    case selectUp
    case selectDown
    case left
    case right
    case wordLeft
    case wordRight
    case home
    case end
    case pageUp
    case pageDown
    /// Ctrl with a letter from a to z, in lower case.
    case control(Character)
    /// Alt with a character.
    case alt(Character)
    /// A sequence that no key here has.
    case unknown
}

/// An input of a terminal: a key, or a text that was pasted.
package enum TerminalInput: Sendable, Hashable {
    case key(Key)
    /// A bracketed paste. Its line ends are line feeds.
    case paste(String)
    /// Typed or pasted text that can be a passphrase, without control characters.
    case secret(TypedPassphrase)
}
