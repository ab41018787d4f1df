/// Makes keys and pastes of the bytes of a terminal.
package struct KeyDecoder: Sendable {
    /// Creates a decoder.
    package init() {}

    /// Whether an escape is pending that is a key of its own if nothing follows within 50 ms.
    package var isPending: Bool { false }

    /// Takes bytes. Returns what they complete.
    package mutating func decode(_ bytes: some Sequence<UInt8>) -> [TerminalInput] { [] }

    /// Returns what is pending, as nothing follows.
    package mutating func flush() -> [TerminalInput] { [] }
}
